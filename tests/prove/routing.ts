import { addressBits } from "./address-bits.ts";
import type { Family, Packet } from "./packet.ts";
import {
  bool,
  both,
  either,
  FALSE,
  fresh,
  masked,
  no,
  same,
  type Term,
  TRUE,
  Unknown,
  unknownsOf,
  within,
} from "./terms.ts";

// The text that goes to `ip -batch -`: rules, and the routes of the gateway's own tables. Main's routes are whatever DHCP,
// a router or a person has put there.

/** What a look-up asks. */
export type Flow = Pick<
  Packet,
  "family" | "iif" | "src" | "dst" | "protocol" | "sport" | "dport" | "mark"
> & {
  /** The interface that a socket is bound to. */
  oif: string | null;
  hasPorts: boolean;
};

/** The condition of each outcome: an interface, `local`, or `refused`. */
export type Ways = ReadonlyMap<string, Term>;

export interface Routing {
  /** Whether what leaves by one link could leave by any. */
  readonly isAny: boolean;
  lookUp(flow: Flow): Ways;
  typesOf(packet: Pick<Packet, "family" | "dst">): AddressTypes;
}

export type AddressTypes = Readonly<
  Record<"local" | "broadcast" | "anycast" | "multicast" | "unicast" | "unreachable", Term>
>;

export interface Rule {
  family: Family;
  priority: number;
  words: readonly string[];
  text: string;
}

export interface Route {
  family: Family;
  table: number;
  prefix: string;
  /** Null refuses. */
  link: string | null;
  metric: number;
}

/** Every routing that there can be, after the table of the gateway's own addresses. */
export class AnyRouting implements Routing {
  readonly isAny: boolean = true;

  constructor(
    protected readonly links: readonly string[],
    private readonly own: readonly string[],
  ) {}

  lookUp(flow: Flow): Ways {
    const links = this.links.filter((link) => flow.oif === null || flow.oif === link);
    const isOwn = this.ownAddress(flow);
    const ways = [...choiceOf([...links, "local", "refused"])].map(
      ([way, condition]) =>
        [way, way === "local" ? either(isOwn, condition) : both(no(isOwn), condition)] as const,
    );
    return new Map(ways);
  }

  /** In IPv4 the local table alone is asked. Of broadcast and anycast addresses any may be one. */
  typesOf(packet: Pick<Packet, "family" | "dst">): AddressTypes {
    const { family, dst } = packet;
    const multicast = family === 4 ? within(dst, 0xe0000000n, 4) : within(dst, 0xffn << 120n, 8);
    const local = both(no(multicast), this.ownAddress(packet));
    const rest = both(no(multicast), no(local));
    const special = either(fresh("special"), family === 4 ? same(dst, 0xffffffffn) : FALSE);
    const reached = fresh("reached");
    return {
      ...{ local, multicast },
      broadcast: family === 4 ? both(rest, special) : FALSE,
      anycast: family === 6 ? both(rest, special) : FALSE,
      unicast: both(rest, no(special), family === 4 ? TRUE : reached),
      unreachable: both(rest, no(special), family === 4 ? FALSE : no(reached)),
    };
  }

  protected ownAddress({ family, dst }: Pick<Packet, "family" | "dst">): Term {
    const own = this.own.filter((each) => each.includes(":") === (family === 6));
    const loopback = family === 4 ? within(dst, 0x7f000000n, 8) : same(dst, 1);
    return either(loopback, ...own.map((each) => same(dst, addressBits(each))));
  }
}

/** These rules and routes, with any route in `main`. */
export class OwnRouting extends AnyRouting {
  override readonly isAny = false;

  constructor(
    links: readonly string[],
    own: readonly string[],
    private readonly rules: readonly Rule[],
    private readonly routes: readonly Route[],
  ) {
    super(links, own);
  }

  override lookUp(flow: Flow): Ways {
    const found = new Map<string, Term>();
    const add = (way: string, condition: Term) => found.set(way, either(found.get(way) ?? FALSE, condition));
    // Besides the gateway's own addresses, the local table has those of broadcasts.
    const isLocal = either(this.ownAddress(flow), fresh("broadcast"));
    add("local", isLocal);
    let left = no(isLocal);
    for (const rule of this.rules.filter(({ family }) => family === flow.family)) {
      const { match, action } = parsedRule(rule, flow);
      const here = both(left, match);
      if (here === FALSE) continue;
      if (action === "unreachable") {
        add("refused", here);
        left = both(left, no(here));
        continue;
      }
      for (const [way, condition] of unknownsOf(rule.text, () => this.inTable(action, flow))) {
        if (way === "none") left = both(left, either(no(match), condition));
        else add(way, both(here, condition));
      }
    }
    add("refused", left);
    return found;
  }

  /** `none` if the next rule is asked. */
  private inTable({ table, suppressed }: Action & object, flow: Flow): Ways {
    const links = this.links.filter((link) => flow.oif === null || flow.oif === link);
    if (table === "main") return choiceOf([...links, "local", "refused", "none"]);
    const own = this.routes
      .filter((route) => route.family === flow.family && String(route.table) === table)
      .filter(({ link }) => link === null || flow.oif === null || flow.oif === link)
      .sort((a, b) => lengthOf(b) - lengthOf(a) || a.metric - b.metric);
    const found = new Map<string, Term>();
    let left: Term = TRUE;
    for (const [, alike] of Map.groupBy(own, (route) => `${route.prefix} ${route.metric}`)) {
      const [first] = alike;
      if (first === undefined) continue;
      const hit = both(
        left,
        within(flow.dst, addressBits(first.prefix.split("/")[0] ?? ""), lengthOf(first)),
      );
      left = both(left, no(hit));
      const ways = alike.map(({ link }) => (lengthOf(first) <= suppressed ? "none" : (link ?? "refused")));
      for (const [way, condition] of choiceOf(ways))
        found.set(way, either(found.get(way) ?? FALSE, both(hit, condition)));
    }
    found.set("none", either(found.get("none") ?? FALSE, left));
    return found;
  }
}

type Action = "unreachable" | { table: string; suppressed: number };

export function parseRules(family: Family, text: string): Rule[] {
  const rules = text.split("\n").flatMap((line) => {
    if (line === "") return [];
    const [, priority = "", rest = ""] = /^rule add priority (\d+) (.+)$/.exec(line) ?? unknown(line);
    return { family, priority: Number(priority), words: rest.split(" "), text: line };
  });
  return rules.sort((a, b) => a.priority - b.priority);
}

export function parseRoutes(family: Family, text: string): Route[] {
  return text.split("\n").flatMap((line) => {
    if (line === "") return [];
    const [, refused, prefix = "", metric = "0", link = "", table = ""] =
      /^route replace (unreachable )?(\S+)(?: metric (\d+))?(?: via \S+)?(?: dev (\S+))?(?: src \S+)? table (\d+)$/.exec(
        line,
      ) ?? unknown(line);
    const whole = prefix === "default" ? (family === 4 ? "0.0.0.0/0" : "::/0") : prefix;
    return {
      ...{ family, table: Number(table), prefix: whole, metric: Number(metric) },
      link: refused === undefined ? link : null,
    };
  });
}

/** The outcomes exclude each other, and one comes about. */
function choiceOf(ways: readonly string[]): Ways {
  const choice = new Map<string, Term>();
  let left: Term = TRUE;
  for (const way of ways.slice(0, -1)) {
    const here = both(left, fresh("way"));
    choice.set(way, either(choice.get(way) ?? FALSE, here));
    left = both(left, no(here));
  }
  const [last] = ways.slice(-1);
  if (last !== undefined) choice.set(last, either(choice.get(last) ?? FALSE, left));
  return choice;
}

function parsedRule(rule: Rule, flow: Flow): { match: Term; action: Action } {
  const words = [...rule.words];
  const terms: Term[] = [];
  let suppressed = -1;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const value = words[0] ?? "";
    if (word === "unreachable" && words.length === 0) return { match: both(...terms), action: "unreachable" };
    if (word === "lookup" && words.length === 1)
      return { match: both(...terms), action: { table: value, suppressed } };
    words.shift();
    if (word === "suppress_prefixlength") suppressed = Number(value);
    else terms.push(selected(word, value, flow, rule));
  }
  return unknown(rule.text);
}

function selected(word: string, value: string, flow: Flow, rule: Rule): Term {
  switch (word) {
    case "from":
    case "to": {
      const [address = "", length] = value.split("/");
      return within(word === "to" ? flow.dst : flow.src, addressBits(address), Number(length));
    }
    case "fwmark": {
      const [mark = "", mask = "0xffffffff"] = value.split("/");
      return same(masked(flow.mark, BigInt(mask)), BigInt(mark));
    }
    case "iif":
      return bool(flow.iif === value);
    case "oif":
      return bool(flow.oif === value);
    case "ipproto":
      return same(flow.protocol, Number(value));
    case "sport":
      return flow.hasPorts ? same(flow.sport, Number(value)) : FALSE;
    case "dport":
      return flow.hasPorts ? same(flow.dport, Number(value)) : FALSE;
  }
  return unknown(rule.text);
}

function lengthOf({ prefix }: Route): number {
  const [, length] = prefix.split("/");
  return length === undefined ? (prefix.includes(":") ? 128 : 32) : Number(length);
}

function unknown(line: string): never {
  throw new Unknown(line);
}
