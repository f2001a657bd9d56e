import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { Destination } from "../../../src/destinations/schema.ts";
import type { DeviceId } from "../../../src/devices/id.ts";
import type { Device } from "../../../src/devices/schema.ts";
import { namedListed } from "../../../src/killswitch/named-listed.ts";
import { ownersOf } from "../../../src/killswitch/named-sets.ts";
import { TABLE } from "../../../src/killswitch/ruleset.ts";
import { LIMITS_TABLE } from "../../../src/network/limits-table.ts";
import { allSlots } from "../../../src/network/slot.ts";
import type { TunnelRow } from "../../../src/tunnel/schema.ts";
import type { Gateway, Lab } from "../tools/lab.ts";
import { call } from "../tools/request.ts";
import { serverOf } from "./changes.ts";

/** What the gateway says about its tunnels, devices and rules. */
export interface Told {
  destinations: readonly Destination[];
  tunnels: readonly TunnelRow[];
  devices: readonly Device[];
  default_exit: string;
}

export async function told({ port }: Gateway): Promise<Told> {
  const answers = await Promise.all(
    ["tunnels", "devices", "destinations"].map((path) => call(port, "GET", `/api/${path}`)),
  );
  if (answers.some((answer) => answer?.status !== 200)) throw new Error("the service does not answer");
  const said: Told = Object.assign({}, ...answers.map((answer) => answer?.body));
  return { ...said, tunnels: said.tunnels.map(decided) };
}

/** Of a connect that has failed, the gateway tells where it should have led; nothing is decided by it. */
function decided({ order, ...tunnel }: TunnelRow): TunnelRow {
  return tunnel.state === "failed" ? { ...tunnel, wanted: null } : { ...tunnel, ...(order && { order }) };
}

/** Where the interface, the database and the kernel disagree, a line each; empty if they agree. */
export async function contradictions(lab: Lab, gateway: Gateway): Promise<string[]> {
  const said = await told(gateway);
  const saved = savedIn(join(lab.sandbox.directory, "state", "portcullis.db"));
  const health = await call(gateway.port, "GET", "/health");
  return [
    ...differing("health", "healthy", health?.body),
    ...differing("default exit, as saved", said.default_exit, saved.defaultExit),
    ...differing("assigned devices, as saved", assignedOf(said), saved.devices),
    ...differing("rules, as saved", rulesOf(said.destinations), saved.rules),
    ...differing("tunnels, as saved", serversOf(said), saved.servers),
    ...differing("firewall's sets", setsFor(said), await setsIn(lab)),
    ...differing("addresses of names", namedFor(said), await namedIn(lab, said)),
    ...differing("firewall's default exit", chainOf(said, said.default_exit), await defaultIn(lab)),
    ...differing("tunnels in the kernel", linksFor(said, saved.slots), await linksIn(lab)),
    ...differing("limited devices in the kernel", limitedOf(said), await limitedIn(lab)),
    ...wrongExits(said),
    ...wrongTargets(said),
  ];
}

function differing(what: string, expected: unknown, found: unknown): string[] {
  const [one, other] = [JSON.stringify(expected), JSON.stringify(found)];
  return one === other ? [] : [`${what}: ${other} instead of ${one}`];
}

const sorted = (words: Iterable<string>) => [...words].sort();

function assignedOf({ devices }: Told): string[] {
  const assigned = devices.filter((device) => device.assigned);
  return sorted(assigned.map(({ id, exit, exit_order }) => `${id} ${exit_order?.join() ?? exit}`));
}

/** A device with several exits has one that is up, if any is. */
function wrongExits({ tunnels, devices }: Told): string[] {
  const isUp = (exit: string) =>
    tunnels.some(({ name, state, unanswered }) => name === exit && state === "connected" && !unanswered);
  return devices.flatMap(({ id, exit, exit_order }) => {
    if (exit_order === undefined) return [];
    const up = exit_order.filter(isUp);
    const last = exit_order.filter((each) => each === "blocked");
    const right = [up, last, exit_order].find((some) => some.length > 0) ?? [];
    return right.includes(exit) ? [] : [`${id}: ${exit} instead of ${right.join(" or ")}`];
  });
}

/** A tunnel with several targets leads to the one that it says it has taken. */
export function wrongTargets({ tunnels }: Pick<Told, "tunnels">): string[] {
  return tunnels.flatMap(({ name, state, provider, server, order }) => {
    const target = order?.targets[order.at];
    if (state !== "connected" || order === undefined) return [];
    const isRight = target?.provider === provider && serverOf(target.server) === server;
    return isRight ? [] : [`${name}: connected to ${server}${orderText(order)}`];
  });
}

function limitedOf({ devices }: Told): string[] {
  return sorted(
    devices.flatMap(({ id, rate, quota }) => (rate === undefined && quota === undefined ? [] : id)),
  );
}

async function limitedIn(lab: Lab): Promise<string[]> {
  const { stdout } = await inGateway(lab, "nft", "list", "table", ...LIMITS_TABLE.split(" "));
  return sorted(new Set(stdout.match(/(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/g)));
}

/** One that has no names may be saved without them. */
type SavedRule = Pick<Destination, "id" | "devices" | "exit"> & Partial<Pick<Destination, "names">>;

function rulesOf(rules: readonly SavedRule[]): string[] {
  return sorted(
    rules.map(({ id, names = [], devices, exit }) => `${id} ${names.join()} ${devices.join()} ${exit}`),
  );
}

function serversOf({ tunnels }: Told): string[] {
  return sorted(tunnels.map(({ name, wanted, order }) => `${name} ${wanted}${orderText(order)}`));
}

function orderText(order: TunnelRow["order"]): string {
  return order === undefined
    ? ""
    : `, number ${order.at} of ${order.targets.map(({ server }) => server).join()}`;
}

interface Saved {
  defaultExit: string;
  devices: string[];
  servers: string[];
  rules: string[];
  slots: Map<string, number>;
}

function savedIn(path: string): Saved {
  const database = new Database(path, { readonly: true });
  try {
    const settings = new Map(
      database.query("SELECT key, value FROM settings").values() as [string, string][],
    );
    const slots = new Map([["main", 0]]);
    const nameOf = (connection: (Pick<TunnelRow, "order"> & { name: string; wanted?: string }) | null) =>
      connection === null ? null : `${connection.wanted ?? connection.name}${orderText(connection.order)}`;
    const main = settings.get("connection");
    const servers = [`main ${main === undefined ? null : nameOf(JSON.parse(main))}`];
    for (const [key, text] of settings) {
      if (!key.startsWith("tunnel ")) continue;
      const { slot, connection } = JSON.parse(text);
      slots.set(key.slice(7), slot);
      servers.push(`${key.slice(7)} ${nameOf(connection)}`);
    }
    const devices = database.query("SELECT id, exit FROM devices WHERE exit IS NOT NULL").values();
    return {
      defaultExit: settings.get("default_exit") ?? "main",
      devices: sorted(devices.map(([id, exit]) => `${id} ${exit}`)),
      servers: servers.sort(),
      rules: rulesOf(JSON.parse(settings.get("destinations") ?? "[]")),
      slots,
    };
  } finally {
    database.close();
  }
}

/** Main is open while it is down, for the gateway's own services. */
function isOpen({ name, state }: TunnelRow): boolean {
  return name === "main" || state === "connected" || state === "reconnecting";
}

const NO_DEVICE = "00:00:00:00:00:00";

function setsFor(told: Told): string[] {
  const { tunnels, devices } = told;
  const assigned = devices.filter((device) => device.assigned);
  const on = (exit: string) => assigned.filter((device) => device.exit === exit);
  const text = (name: string, some: readonly Device[]) =>
    [name, ...sorted(some.map(({ id }) => id))].join(" ");
  const open = tunnels.filter(isOpen).map(({ name }) => text(`on_${name}`, on(name)));
  const direct = on("direct");
  const exits = assigned.map(
    ({ id, exit }) => `${id} ${exit === "direct" ? "exit_direct" : chainOf(told, exit)}`,
  );
  return sorted([
    // Without it the set counts as emptied.
    ["assigned", NO_DEVICE, ...sorted(assigned.map(({ id }) => id))].join(" "),
    ["exit_of", ...sorted(exits)].join(" "),
    ...open,
    ...(direct.length > 0 ? [text("on_direct", direct)] : []),
  ]);
}

async function setsIn(lab: Lab): Promise<string[]> {
  const listed = await tableIn(lab);
  // Rules for destinations have sets of their own.
  const sets = listed.flatMap(({ set }) => (set && /^(assigned|on_.+)$/.test(set.name) ? set : []));
  const maps = listed.flatMap(({ map }) => (map?.name === "exit_of" ? map : []));
  const entries = (elements: Exit[]) => elements.map(([id, { goto }]) => `${id} ${goto.target}`);
  return sorted([
    ...sets.map(({ name, elem = [] }) => [name, ...elem.toSorted()].join(" ")),
    ...maps.map(({ name, elem = [] }) => [name, ...sorted(entries(elem))].join(" ")),
  ]);
}

function chainOf({ tunnels }: Told, exit: string): string {
  return tunnels.some((tunnel) => tunnel.name === exit && isOpen(tunnel)) ? `exit_${exit}` : "exit_blocked";
}

/** How many addresses the names of each rule have. Each rule has other devices, so that none shares a set. */
function namedFor({ destinations }: Told): string[] {
  const named = destinations.filter(({ names }) => names.length > 0);
  return sorted(named.map(({ id, addresses }) => `${id} ${addresses}`));
}

async function namedIn(lab: Lab, { destinations }: Told): Promise<string[]> {
  const named = destinations.filter(({ names }) => names.length > 0);
  const { stdout } = await inGateway(lab, "nft", "list", "table", ...TABLE.split(" "));
  const listed = namedListed(stdout);
  const countOf = ({ devices, exit }: Destination) =>
    listed
      .filter((set) => set.owners === ownersOf(devices as DeviceId[]) && set.exit === exit)
      .reduce((sum, { addresses }) => sum + addresses.length, 0);
  return sorted(named.map((rule) => `${rule.id} ${countOf(rule)}`));
}

async function defaultIn(lab: Lab): Promise<string | undefined> {
  const rules = (await tableIn(lab)).flatMap(({ rule }) => rule ?? []);
  const way = rules.find(({ chain, comment }) => chain === "by_device_sets" && comment === DEFAULT_EXIT);
  return way?.expr.flatMap(({ goto }) => goto?.target ?? [])[0];
}

/** What the firewall says of the rule for all other devices. */
const DEFAULT_EXIT = "the default exit, unless the set was emptied";

/** An element of the map of exits. */
type Exit = [id: string, verdict: { goto: { target: string } }];

interface Listed {
  map?: { name: string; elem?: Exit[] };
  set?: { name: string; elem?: string[] };
  rule?: { chain: string; comment?: string; expr: { goto?: { target: string } }[] };
}

async function tableIn(lab: Lab): Promise<Listed[]> {
  const { stdout } = await inGateway(lab, "nft", "-j", "list", "table", ...TABLE.split(" "));
  return JSON.parse(stdout || '{"nftables":[]}').nftables;
}

/** What the kernel has of each tunnel, by slot. */
function linksFor({ tunnels }: Told, slots: Saved["slots"]): string[] {
  const live = tunnels.filter(({ state }) => state === "connected");
  return sorted(live.map(({ name }) => `${slots.get(name)}: one interface, all routes`));
}

async function linksIn(lab: Lab): Promise<string[]> {
  const { stdout } = await inGateway(lab, "ip", "-j", "link", "show");
  const present = JSON.parse(stdout).map(({ ifname }: { ifname: string }) => ifname);
  const routes = [await defaultsIn(lab, "-4"), await defaultsIn(lab, "-6")];
  return allSlots(lab.sandbox.interface)
    .flatMap(({ links, table }, number) => {
      const own = links.filter((link) => present.includes(link));
      const routed = routes.map((defaults) => defaults.get(`${table}`) ?? null);
      if (own.length === 0 && routed.every((link) => link === null)) return [];
      const whole = routed.every((link) => link === own[0]) ? "all routes" : `routes to ${routed.join()}`;
      return [`${number}: ${own.length === 1 ? "one interface" : own.join()}, ${whole}`];
    })
    .sort();
}

/** The interface of each table's default route. */
async function defaultsIn(lab: Lab, family: string): Promise<Map<string, string>> {
  const { stdout } = await inGateway(lab, "ip", "-j", family, "route", "show", "table", "all");
  const routes: { dst: string; dev?: string; table?: string }[] = JSON.parse(stdout);
  const defaults = routes.filter(({ dst, dev }) => dst === "default" && dev !== undefined);
  return new Map(defaults.map(({ table = "main", dev = "" }) => [table, dev]));
}

function inGateway(lab: Lab, ...argv: string[]) {
  return lab.exec(lab.namespaces.gateway, argv);
}
