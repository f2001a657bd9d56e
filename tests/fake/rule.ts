/** What `ip -j rule show` says of a rule. */
export type ShownRule = Readonly<Record<string, string | number | null>>;

/** The rules that every network namespace begins with. */
export const KERNELS_OWN: Readonly<Record<"-4" | "-6", readonly string[]>> = {
  "-4": ["priority 0 lookup local", "priority 32766 lookup main", "priority 32767 lookup default"],
  "-6": ["priority 0 lookup local", "priority 32766 lookup main"],
};

const PROTOCOLS: Readonly<Record<string, string>> = { "6": "tcp", "17": "udp" };

/** A rule as `ip -j rule show` prints it, from what `ip rule add` was told, on a machine with these interfaces. */
export function ruleJson(text: string, links: { has(name: string): boolean }): ShownRule {
  const { iif, oif } = selectors(text);
  const isAway = (name: string | undefined) => name !== undefined && !links.has(name);
  return {
    src: "all",
    ...attributesOf(text),
    ...(isAway(iif) ? { iif_detached: null } : {}),
    ...(isAway(oif) ? { oif_detached: null } : {}),
  };
}

export function priorityOf(text: string): number {
  return Number(selectors(text).priority);
}

/** Whether `ip rule add` refuses the second because there is the first. */
export function isSameRule(one: string, other: string): boolean {
  return Bun.deepEquals(attributesOf(one), attributesOf(other));
}

/** Whether `ip rule del` with these words may take the rule: it has all that they name, and may have more. */
export function fits(rule: string, words: string): boolean {
  const attributes = attributesOf(rule);
  return Object.entries(attributesOf(words)).every(([name, value]) => attributes[name] === value);
}

/** A gateway that starts adds each of its rules beside all the others, which are the same at each start. */
const READ = new Map<string, ShownRule>();

function attributesOf(text: string): ShownRule {
  const read = READ.get(text) ?? readRule(text);
  READ.set(text, read);
  return read;
}

function readRule(text: string): ShownRule {
  const { priority, from, to, fwmark, iif, oif, ipproto, sport, dport, lookup, suppress_prefixlength } =
    selectors(text);
  const [, action] = /\b(unreachable|blackhole|prohibit)$/.exec(text) ?? [];
  return {
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    ...prefixIn("src", from),
    ...prefixIn("dst", to),
    ...markIn(fwmark),
    ...(iif === undefined ? {} : { iif }),
    ...(oif === undefined ? {} : { oif }),
    ...(ipproto === undefined ? {} : { ipproto: PROTOCOLS[ipproto] ?? ipproto }),
    ...(sport === undefined ? {} : { sport: Number(sport) }),
    ...(dport === undefined ? {} : { dport: Number(dport) }),
    ...(suppress_prefixlength === undefined ? {} : { suppress_prefixlen: Number(suppress_prefixlength) }),
    ...(lookup === undefined ? {} : { table: lookup }),
    ...(action === undefined ? {} : { action }),
  };
}

/** The words that have another one after them. */
function selectors(text: string): Record<string, string | undefined> {
  return Object.fromEntries(
    [...text.matchAll(/(\S+) (\S+)(?: |$)/g)].map(([, name, value]) => [name, value]),
  );
}

/** A single address is printed without its length. */
function prefixIn(end: "src" | "dst", text: string | undefined): ShownRule {
  const [address, length] = text?.split("/") ?? [];
  if (address === undefined) return {};
  const whole = length === undefined || Number(length) === (address.includes(":") ? 128 : 32);
  return { [end]: address, ...(whole ? {} : { [`${end}len`]: Number(length) }) };
}

/** `ip` prints mark and mask apart. */
function markIn(text: string | undefined): { fwmark?: string; fwmask?: string } {
  const [fwmark, fwmask] = text?.split("/") ?? [];
  return { ...(fwmark === undefined ? {} : { fwmark }), ...(fwmask === undefined ? {} : { fwmask }) };
}
