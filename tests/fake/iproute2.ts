import { addressJson, type FakeLink, newLink } from "./link.ts";
import { fail, unknown } from "./refusal.ts";
import { fits, isSameRule, KERNELS_OWN, priorityOf, ruleJson } from "./rule.ts";

export type Family = "-4" | "-6";

/** `Deleted` is no state of the kernel's: the entry is gone. */
export type NeighbourState = "REACHABLE" | "STALE" | "DELAY" | "PROBE" | "FAILED" | "PERMANENT" | "Deleted";

interface FakeNeighbour {
  dev: string;
  lladdr?: string;
  used: number;
  confirmed: number;
  updated: number;
  state: string[];
}

/** What a test decides of the machine, and who hears `ip monitor`. */
interface Machine {
  /** Whether the kernel makes WireGuard interfaces itself. */
  readonly native: boolean;
  readonly hasIpv6: boolean;
  /** The interface of the IPv4 default route. */
  readonly defaultRoute: string | null;
  tell(program: "ip", line: string): void;
}

/** What `ip` does: links, addresses, routes and rules. As in the real kernel a link takes its routes with it. */
export class Iproute2 {
  readonly links = new Map<string, FakeLink>();
  /** Each tunnel's routing table: prefix to interface. */
  readonly tables = new Map(
    Array.from({ length: 8 }, (_, slot) => [20556 + slot, new Map<string, string>()]),
  );
  /** That of the tunnel `main`. */
  readonly routes = this.table(20556);
  /** The MAC addresses of hosts that answer when the kernel asks the LAN for their address. */
  readonly answering = new Map<string, string>();
  /** What routers on the way to an address have said of packets that are too long, in bytes. */
  readonly toldMtus = new Map<string, number>();
  /** Without the kernel's own. */
  readonly rules: Record<Family, string[]> = { "-4": [], "-6": [] };
  /** The neighbour table, by address. */
  readonly neighbours = new Map<string, FakeNeighbour>();
  /** Whose table exists: the first attempt at a route makes it, and for IPv6 the first rule that leads to it. */
  private readonly tabled = new Set<string>();

  constructor(private readonly machine: Machine) {
    this.links.set("lo", newLink({ up: true, mtu: 65536, addresses: ["127.0.0.1/8", "::1/128"] }));
    for (const name of ["lan0", "up0"]) this.links.set(name, newLink({ up: true }));
  }

  run(command: string, stdin: string): string {
    if (!this.machine.hasIpv6 && /^ip (-j -6 rule|-6 )/.test(command)) {
      fail("Address family not supported by protocol");
    }
    const show =
      /^ip -j (-4|-6) (rule show|route show|route show default|route show table 2055[6-9]|route show table 2056[0-3])$/.exec(
        command,
      );
    if (show) return JSON.stringify(this.shown(show[1] as Family, show[2] ?? ""));
    const [, asked] = /^ip -j route get (\S+) mark \d+$/.exec(command) ?? [];
    if (asked !== undefined) return JSON.stringify([this.routeTo(asked)]);
    const batch = /^ip (?:(-4|-6) )?-batch -$/.exec(command);
    if (batch) return this.batch(stdin, batch[1] as Family | undefined);
    if (command === "ip -j link show") {
      return JSON.stringify([...this.links.keys()].map((ifname) => ({ ifname })));
    }
    if (command === "ip -j address show") return JSON.stringify([...this.links].map(addressJson));
    if (command === "ip -j -s neigh show") {
      return JSON.stringify([...this.neighbours].map(([dst, row]) => ({ dst, ...row })));
    }
    const [, neighbour, link] = /^ip neigh replace (\S+) dev (\S+) use$/.exec(command) ?? [];
    if (neighbour !== undefined && link !== undefined) {
      const mac = this.answering.get(neighbour);
      this.setNeighbour(neighbour, link, mac ?? "", mac === undefined ? "FAILED" : "REACHABLE");
      return "";
    }
    const [, name] = /^ip -j address show dev (\S+)$/.exec(command) ?? [];
    if (name !== undefined) return JSON.stringify([addressJson([name, this.link(name)])]);
    const [, deleted] = /^ip link del dev (\S+)$/.exec(command) ?? [];
    return deleted === undefined ? unknown(command) : this.deleteLink(deleted);
  }

  addLink(name: string, userspace: boolean): string {
    // A program that makes the interface is not a kernel tool.
    if (this.links.has(name)) fail("File exists", userspace ? "unable" : "kernel_refused");
    const device = { privateKey: "", fwmark: 0, peer: null, others: [] };
    this.links.set(name, newLink({ mtu: 1420, userspace, device }));
    this.tell(`[LINK]9: ${name}: <POINTOPOINT,NOARP> mtu 1420 qdisc noop state DOWN`);
    return "";
  }

  deleteLink(name: string): string {
    if (!this.links.delete(name)) fail(`Cannot find device "${name}"`);
    for (const routes of this.tables.values())
      for (const [prefix, dev] of routes) if (dev === name) routes.delete(prefix);
    this.tell(`[LINK]Deleted 9: ${name}: <POINTOPOINT,NOARP> mtu 1420 qdisc noop state DOWN`);
    return "";
  }

  link(name: string): FakeLink {
    return this.links.get(name) ?? fail(`Cannot find device "${name}"`);
  }

  removeRoute(prefix: string, table = 20556): void {
    const link = this.table(table).get(prefix);
    this.table(table).delete(prefix);
    this.tell(`[ROUTE]Deleted ${prefix} dev ${link} table ${table} scope link `);
  }

  removeAddress(name: string, address: string): void {
    const { addresses } = this.link(name);
    addresses.splice(addresses.indexOf(address), 1);
    this.tell(`[ADDR]Deleted 9: ${name}    inet ${address} scope global noprefixroute ${name}`);
  }

  /** As the real one, an entry that failed has no MAC address. */
  setNeighbour(address: string, device: string, mac: string, state: NeighbourState): void {
    const before = this.neighbours.get(address);
    if (state === "Deleted") this.neighbours.delete(address);
    else {
      const lladdr = state === "FAILED" ? {} : { lladdr: mac };
      const confirmed = state === "REACHABLE" ? 0 : 60;
      this.neighbours.set(address, {
        dev: device,
        ...lladdr,
        used: 0,
        confirmed,
        updated: 0,
        state: [state],
      });
    }
    const known = before?.lladdr === undefined ? "" : `lladdr ${before.lladdr} `;
    const now = state === "FAILED" ? "" : `lladdr ${mac} `;
    if (state === "Deleted")
      this.tell(`[NEIGH]Deleted ${address} dev ${device} ${known}${before?.state[0]} `);
    // The kernel does not tell of this state.
    else if (state !== "DELAY") this.tell(`[NEIGH]${address} dev ${device} ${now}${state} `);
  }

  /** As the real one, `del` takes the first rule that has all that its words name. */
  changeRule(verb: "add" | "del", family: Family, text: string): string {
    const rules = this.rules[family];
    if (verb === "add") {
      if (rules.some((rule) => isSameRule(rule, text))) fail("File exists");
      rules.push(text);
      if (family === "-6" && text.endsWith("lookup 20556")) this.tabled.add(`${family} 20556`);
      this.tell(`[RULE]${text}`);
      return "";
    }
    const first = rules.findIndex((rule) => fits(rule, text));
    if (first < 0) fail("No such file or directory");
    rules.splice(first, 1);
    this.tell(`[RULE]Deleted ${text}`);
    return "";
  }

  private shown(family: Family, what: string): unknown[] {
    if (what === "rule show") return this.shownRules(family);
    if (what === "route show" || what === "route show default")
      return family === "-4" ? this.defaultRoutes() : [];
    const table = Number(what.split(" ").at(-1));
    if (!this.tabled.has(`${family} ${table}`)) fail("FIB table does not exist");
    return [...this.table(table)]
      .filter(([prefix]) => familyOf(prefix) === family)
      .map(([prefix, dev]) => ({ dst: shownPrefix(prefix), dev }));
  }

  private routeTo(address: string): unknown {
    const dev = this.machine.defaultRoute ?? fail("Network is unreachable");
    const mtu = this.toldMtus.get(address);
    return {
      dst: address,
      gateway: "198.51.100.1",
      dev,
      ...(mtu === undefined ? {} : { metrics: [{ mtu }] }),
    };
  }

  private shownRules(family: Family): unknown[] {
    const rules = [...KERNELS_OWN[family], ...this.rules[family]];
    return rules.toSorted((a, b) => priorityOf(a) - priorityOf(b)).map((rule) => ruleJson(rule, this.links));
  }

  private defaultRoutes(): unknown[] {
    const dev = this.machine.defaultRoute;
    if (dev === null) return [];
    const flags = this.links.get(dev)?.carrier ? [] : ["linkdown"];
    return [{ dst: "default", gateway: "198.51.100.1", dev, flags }];
  }

  /** It ends at its first bad line; what came before has had its effect. */
  private batch(lines: string, family: Family | undefined): string {
    for (const line of lines.trimEnd().split("\n")) this.line(line, family);
    return "";
  }

  private line(line: string, family: Family | undefined): string {
    const [, , first = "", second = ""] = line.split(" ");
    const device = / dev (\S+)/.exec(line)?.[1] ?? "";
    if (/^link add dev \S+ type wireguard$/.test(line)) {
      return this.machine.native ? this.addLink(second, false) : fail("Unknown device type");
    }
    if (/^address replace \S+ dev \S+ noprefixroute( nodad)?$/.test(line)) {
      return this.replaceAddress(first, device);
    }
    const [, mtu] = /^link set dev \S+ mtu (\d+) up$/.exec(line) ?? [];
    if (mtu !== undefined) return this.bringUp(device, Number(mtu));
    const [, replaced] = /^route replace \S+ dev \S+ table (\d+)( mtu lock \d+)?$/.exec(line) ?? [];
    if (replaced !== undefined) return this.replaceRoute(first, device, Number(replaced));
    const [, table] = /^route del \S+ table (\d+)$/.exec(line) ?? [];
    if (table !== undefined) return this.table(Number(table)).delete(first) ? "" : fail("No such process");
    const [, verb, rule] = /^rule (add|del) (priority \d+.*)$/.exec(line) ?? [];
    if (rule === undefined || family === undefined) return unknown(line);
    return this.changeRule(verb as "add" | "del", family, rule);
  }

  private replaceAddress(address: string, device: string): string {
    const { addresses } = this.link(device);
    if (!addresses.includes(address)) addresses.push(address);
    this.tell(`[ADDR]9: ${device}    inet ${address} scope global noprefixroute ${device}`);
    return "";
  }

  private bringUp(device: string, mtu: number): string {
    Object.assign(this.link(device), { mtu, up: true });
    this.tell(`[LINK]9: ${device}: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu ${mtu}`);
    return "";
  }

  private replaceRoute(prefix: string, device: string, table: number): string {
    const { up } = this.link(device);
    this.tabled.add(`${familyOf(prefix)} ${table}`);
    if (!up) fail("Network is down");
    this.table(table).set(prefix, device);
    this.tell(`[ROUTE]${prefix} dev ${device} table ${table} scope link `);
    return "";
  }

  private table(number: number): Map<string, string> {
    return this.tables.get(number) ?? unknown(`table ${number}`);
  }

  private tell(line: string): void {
    this.machine.tell("ip", line);
  }
}

function familyOf(prefix: string): Family {
  return prefix.includes(":") ? "-6" : "-4";
}

/** `ip` spells the widest prefix `default`, and a single address without its length. */
function shownPrefix(prefix: string): string {
  if (prefix === "0.0.0.0/0" || prefix === "::/0") return "default";
  return prefix.replace(prefix.includes(":") ? /\/128$/ : /\/32$/, "");
}
