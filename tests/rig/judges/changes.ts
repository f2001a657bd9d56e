import { INTERNET } from "../../../src/sandbox/topology.ts";

/** A rule for the hosts that devices send to. */
interface Rule {
  /** Empty until the gateway has told it. */
  id: string;
  exit: string;
}

/**
 * What people have decided: the server of each tunnel, or several in order, or null, the exit of each device that has its
 * own, or several in order, the rules for destinations by their networks and by their names, and the limits, by device.
 */
export interface Decisions {
  readonly rules: Readonly<Record<number, Rule>>;
  readonly named: Readonly<Record<number, Rule>>;
  readonly tunnels: Readonly<Record<string, string | null>>;
  readonly exits: Readonly<Record<number, string>>;
  readonly defaultExit: string;
  readonly limits: Readonly<Record<number, Limit>>;
}

export type Limit = "a rate" | "a quota";

/** Orders are texts as the gateway writes them. */
const SEPARATOR = ",";

/** Each of an order, or the only one. */
export function eachOf(order: string | null | undefined): string[] {
  return order?.split(SEPARATOR) ?? [];
}

/** A request that changes decisions. */
export interface Change {
  /** What it is about, for counts. */
  what: string;
  method: string;
  path: string;
  body?: unknown;
  /** What they are if it succeeds. */
  effect: (decisions: Decisions) => Decisions;
  /** What else they may be if the service does not live to answer. */
  halves?: readonly Change["effect"][];
}

export const macOf = (device: number) => `02:00:00:00:10:0${device}`;

export function assign(device: number, exit: string): Change {
  return {
    what: "devices moved",
    method: "PUT",
    path: `/api/devices/${macOf(device)}`,
    body: { exit: exit.includes(SEPARATOR) ? eachOf(exit) : exit },
    effect: (decisions) => ({ ...decisions, exits: { ...decisions.exits, [device]: exit } }),
  };
}

export function forget(device: number): Change {
  return {
    what: "devices forgotten",
    method: "DELETE",
    path: `/api/devices/${macOf(device)}`,
    effect: (decisions) => {
      const { [device]: _, ...exits } = decisions.exits;
      const { [device]: __, ...limits } = decisions.limits;
      return { ...decisions, exits, limits };
    },
  };
}

/** What a device may send: enough for the marks, or so little that it is used up in a moment. */
const LIMITS = {
  "a rate": { rate: { down: 5, up: 5 } },
  "a quota": { quota: { megabytes: 1, every: "day" } },
};
/** Of the quota. */
export const QUOTA_BYTES = 1_000_000;

export function limit(device: number, what: Limit): Change {
  return {
    what: "limits given",
    method: "PUT",
    path: `/api/devices/${macOf(device)}`,
    body: { rate: null, quota: null, ...LIMITS[what] },
    effect: (decisions) => ({ ...decisions, limits: { ...decisions.limits, [device]: what } }),
  };
}

export function unlimit(device: number): Change {
  return {
    what: "limits ended",
    method: "PUT",
    path: `/api/devices/${macOf(device)}`,
    body: { rate: null, quota: null },
    effect: (decisions) => {
      const { [device]: _, ...limits } = decisions.limits;
      return { ...decisions, limits };
    },
  };
}

export function setDefault(exit: string): Change {
  return {
    what: "default exits",
    method: "PUT",
    path: "/api/default-exit",
    body: { exit },
    effect: (decisions) => ({ ...decisions, defaultExit: exit }),
  };
}

/** To a server, or to a place of the managed provider's. */
export function lead(tunnel: string, server: string): Change {
  return {
    what: connectTo(server),
    method: "PUT",
    path: `/api/tunnels/${tunnel}`,
    body: { provider: providerOf(server), server },
    effect: leadsTo(tunnel, server),
  };
}

/** Leads `main` to a server or place of the current provider, which is the managed one. */
export function connect(server: string): Change {
  return {
    what: connectTo(server),
    method: "POST",
    path: "/api/connect",
    body: { server },
    effect: leadsTo("main", server),
  };
}

/** Leads it to the first of these that works, and back to a better one. */
export function leadInOrder(tunnel: string, servers: readonly string[]): Change {
  const targets = servers.map((server) => ({ provider: providerOf(server), server }));
  return {
    what: "connects to targets in order",
    method: "PUT",
    path: `/api/tunnels/${tunnel}`,
    body: { targets, back_after_minutes: 1, move_when: ["slow", "lossy"] },
    effect: leadsTo(tunnel, servers.map(serverOf).join(SEPARATOR)),
    // A start finds the tunnel that is up, and knows no order of which it would be one.
    halves: servers.map((server) => leadsTo(tunnel, server)),
  };
}

function providerOf(server: string): string {
  return server.startsWith("custom") ? "custom" : "managed";
}

function connectTo(server: string): string {
  return serverOf(server) === server ? "connects to a server" : "connects to a place";
}

function leadsTo(tunnel: string, server: string): Change["effect"] {
  return (decisions) => ({ ...decisions, tunnels: { ...decisions.tunnels, [tunnel]: serverOf(server) } });
}

export function disconnect(tunnel: string): Change {
  return {
    what: "disconnects",
    method: "POST",
    path: `/api/tunnels/${tunnel}/disconnect`,
    effect: (decisions) => ({ ...decisions, tunnels: { ...decisions.tunnels, [tunnel]: null } }),
  };
}

export function remove(tunnel: string): Change {
  return {
    what: "tunnels removed",
    method: "DELETE",
    path: `/api/tunnels/${tunnel}`,
    effect: (decisions) => {
      const { [tunnel]: _, ...tunnels } = decisions.tunnels;
      return { ...decisions, tunnels };
    },
  };
}

/** In the place of a device: the rule for all of them. */
export const ALL_DEVICES = 0;
const HOSTS = [`${INTERNET.host4}/32`, `${INTERNET.host6}/128`];

/** The hosts' name. */
export const HOST_NAME = "internet.test";

/** How rules say what they are for. */
type Kind = "rules" | "named";
const TARGETS = { rules: { prefixes: HOSTS }, named: { names: [HOST_NAME] } };
const WORDS: Record<Kind, string> = { rules: "rules", named: "rules by name" };

/** A rule for the hosts, for one device or for all. */
function leadHosts(kind: Kind, device: number, exit: string): Change {
  return {
    what: `${WORDS[kind]} made`,
    method: "POST",
    path: "/api/destinations",
    body: { ...TARGETS[kind], devices: device === ALL_DEVICES ? [] : [macOf(device)], exit },
    effect: (decisions) => ({ ...decisions, [kind]: { ...decisions[kind], [device]: { id: "", exit } } }),
  };
}

export function changeRule(kind: Kind, device: number, id: string, exit: string): Change {
  return {
    what: `${WORDS[kind]} changed`,
    method: "PATCH",
    path: `/api/destinations/${id}`,
    body: { exit },
    effect: (decisions) =>
      decisions[kind][device]?.id === id
        ? { ...decisions, [kind]: { ...decisions[kind], [device]: { id, exit } } }
        : decisions,
  };
}

function removeRule(kind: Kind, device: number, id: string): Change {
  return {
    what: `${WORDS[kind]} removed`,
    method: "DELETE",
    path: `/api/destinations/${id}`,
    effect: (decisions) => {
      const { [device]: found, ...others } = decisions[kind];
      return found?.id === id ? { ...decisions, [kind]: others } : decisions;
    },
  };
}

/** The exits that a device may have apart from rules, the best first. */
export function ownExits({ exits, defaultExit }: Decisions, device: number): string[] {
  return eachOf(exits[device] ?? defaultExit);
}

/** The one that it has once all tunnels with a server are up, or a later one. */
export function ownExit(decisions: Decisions, device: number): string {
  const own = ownExits(decisions, device);
  return own.find((exit) => decisions.tunnels[exit] != null) ?? own.at(-1) ?? "blocked";
}

/**
 * The exits that what a device sends to the hosts may take: more than one if it has several of its own, or if a rule by name
 * may lead it, and it is not known whether the kernel has the addresses. `led` has the rules of which that is known. A
 * device that is blocked uses only rules of its own.
 */
export function exitsToHosts(
  decisions: Decisions,
  device: number,
  led: ReadonlySet<number>,
  ownOnes = ownExits(decisions, device),
): string[] {
  return [...new Set(ownOnes.flatMap((own) => exitsFrom(own, decisions, device, led)))];
}

/** The same while it has this one of its own. */
function exitsFrom(own: string, decisions: Decisions, device: number, led: ReadonlySet<number>): string[] {
  const exits: string[] = [];
  for (const whose of own === "blocked" ? [device] : [device, ALL_DEVICES]) {
    const [named, rule] = [decisions.named[whose], decisions.rules[whose]];
    if (named !== undefined) exits.push(named.exit);
    if (named !== undefined && led.has(whose)) return exits;
    if (rule !== undefined) return [...exits, rule.exit];
  }
  return [...exits, own];
}

/** Whose rule by name a question of the device is for; null for none. What is direct does not ask the gateway. */
export function namedFor(decisions: Decisions, device: number): number | null {
  const own = ownExit(decisions, device);
  if (own === "direct") return null;
  const all = own === "blocked" ? [device] : [device, ALL_DEVICES];
  return all.find((whose) => decisions.named[whose] !== undefined) ?? null;
}

/** The names that tunnels have; all but the first may come and go. */
const TUNNELS = ["main", "second", "third"];
const SERVERS = ["box-vpn-1", "box-vpn-2", "custom-1", "custom-2"];
/** Each has one managed server, so a place and its server are the same decision. */
const PLACES: Readonly<Record<string, string>> = {
  "box-vpn-1": "Sweden",
  "box-vpn-2": "Amsterdam, Netherlands",
};

/** The server of a place; a server is its own. */
export function serverOf(wanted: string): string {
  return Object.keys(PLACES).find((server) => PLACES[server] === wanted) ?? wanted;
}

/** Any change that could be made now to the decisions about so many devices; some are refused. */
export function anyChange(decisions: Decisions, devices: number, random: () => number): Change {
  const pick = <T>(choices: readonly T[]): T => {
    const choice = choices[Math.floor(random() * choices.length)];
    if (choice === undefined) throw new Error("there is no choice");
    return choice;
  };
  const { tunnels } = decisions;
  const exits = [...Object.keys(tunnels), "blocked"];
  const own = [...exits, "direct"];
  const led = Object.keys(tunnels);
  const shuffled = (some: readonly string[]) =>
    some
      .map((each) => [random(), each] as const)
      .sort(([one], [other]) => one - other)
      .map(([, each]) => each);
  const device = pick(Array.from({ length: devices }, (_, index) => index + 1));
  const tunnel = pick(TUNNELS);
  const whose = pick([device, ALL_DEVICES]);
  const rule = decisions.rules[whose];
  const named = decisions.named[whose];
  const others = Object.entries(tunnels).flatMap(([name, order]) => (name === tunnel ? [] : [eachOf(order)]));
  const taken = others.flat();
  // With the same key at the same server, each would end the other.
  const free = SERVERS.filter((server) => !taken.includes(server));
  const make = (kind: Kind, ways: readonly string[]) => leadHosts(kind, whose, pick(ways));
  const move = () => {
    const server = pick(free);
    const place = PLACES[server];
    const wanted = pick([server, place ?? server]);
    return tunnel === "main" && place !== undefined ? connect(wanted) : lead(tunnel, wanted);
  };
  // The others need a server each.
  const leadInTurn = () =>
    others.some(({ length }) => length > 1) ? move() : leadInOrder(tunnel, shuffled(free).slice(0, 2));
  const several = () => [...shuffled(led), ...pick([[], ["blocked"]])].join(SEPARATOR);
  return pick([
    leadInTurn,
    () => assign(device, several()),
    () => assign(device, several()),
    () =>
      decisions.limits[device] === undefined ? limit(device, pick(["a rate", "a quota"])) : unlimit(device),
    () =>
      decisions.limits[device] === undefined ? limit(device, pick(["a rate", "a quota"])) : unlimit(device),
    () => assign(device, pick(own)),
    () => assign(device, pick(own)),
    () => assign(device, pick(own)),
    () => (decisions.exits[device] === undefined ? assign(device, "blocked") : forget(device)),
    () => setDefault(pick(exits)),
    () => (rule === undefined ? make("rules", own) : changeRule("rules", whose, rule.id, pick(own))),
    () => (rule === undefined ? make("rules", own) : removeRule("rules", whose, rule.id)),
    // What a rule by name blocks has no addresses, and what is direct comes last: other tests are for these.
    () => (named === undefined ? make("named", led) : changeRule("named", whose, named.id, pick(led))),
    () => (named === undefined ? make("named", led) : removeRule("named", whose, named.id)),
    move,
    move,
    () => (tunnel in tunnels ? disconnect(tunnel) : lead(tunnel, pick(free))),
    () => (tunnel in tunnels && tunnel !== "main" ? remove(tunnel) : lead(tunnel, pick(free))),
  ])();
}

/** A change that was made, and the status of its answer; null without one. */
export interface Made {
  change: Change;
  status: number | null;
}

/** All that may be so after changes that were made at once, in any order, and by their answers. */
export function outcomesOf(before: readonly Decisions[], made: readonly Made[]): Decisions[] {
  if (made.length === 0) return distinct(before);
  return distinct(
    made.flatMap((first, index) => {
      const after = before.flatMap((decisions) => effectsOf(first, decisions));
      return outcomesOf(after, made.toSpliced(index, 1));
    }),
  );
}

function effectsOf({ change: { effect, halves = [] }, status }: Made, decisions: Decisions): Decisions[] {
  if (status === 200) return [effect(decisions)];
  return status === null ? [decisions, ...[effect, ...halves].map((each) => each(decisions))] : [decisions];
}

/** Each device's exit exists, and so does each rule's. */
export function isConsistent({ tunnels, exits, defaultExit, rules, named }: Decisions): boolean {
  const ofRules = [...Object.values(rules), ...Object.values(named)].map(({ exit }) => exit);
  return [...Object.values(exits).flatMap(eachOf), ...ofRules, defaultExit].every(
    (exit) => ["blocked", "direct"].includes(exit) || exit in tunnels,
  );
}

function distinct(all: readonly Decisions[]): Decisions[] {
  return [...new Map(all.map((decisions) => [comparable(decisions), decisions])).values()];
}

/** The same text for the same decisions. */
export function comparable({ tunnels, exits, defaultExit, rules, named, limits }: Decisions): string {
  const exitsIn = (some: Readonly<Record<number, Rule>>) =>
    Object.fromEntries(Object.entries(some).map(([device, { exit }]) => [device, exit]));
  const entries = (record: object) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    entries(tunnels),
    entries(exits),
    defaultExit,
    entries(exitsIn(rules)),
    entries(exitsIn(named)),
    entries(limits),
  ]);
}
