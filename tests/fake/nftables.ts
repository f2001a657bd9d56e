import type { Mac } from "../../src/base/mac.ts";
import { chainsListed, isSet } from "../../src/killswitch/listing.ts";
import { BOUNDS_TABLE } from "../../src/network/bounds-table.ts";
import { COUNTERS_TABLE } from "../../src/network/counters.ts";
import { markOfDevice } from "../../src/network/device-mark.ts";
import { LIMITS_TABLE } from "../../src/network/limits-table.ts";
import type { ElementChange } from "../../src/system/host.ts";
import { LimitsTable } from "./limits.ts";
import { fail, unknown } from "./refusal.ts";

/** What a test decides of `nft`, and who hears `nft monitor`. */
interface Machine {
  /** Whether `nft` says what it has loaded, as it was asked to. */
  readonly echoes: boolean;
  tell(program: "nft", line: string): void;
}

/** What another program does to a table of the gateway's: it keeps its rules, loses them, or has a chain more. */
export type Meddling = "dormant" | "flushed" | "altered" | "missing";

const ADD_ARP_TABLE = "add table arp portcullis\n";
const ADD_TABLE = "add table inet portcullis\n";

/** What `nft` does: the firewall's table as the text that it was loaded from, and the tables of other programs. */
export class Nftables {
  /** The text of `table inet portcullis`, or null where there is none. */
  table: string | null = null;
  /** The same of `table arp portcullis`. */
  arp: string | null = null;
  /** Every table that ever stood. */
  readonly tables: (string | null)[] = [];
  /** Tables of other programs, as nft lists them, by family and name: `ip filter`. */
  private readonly others = new Map<string, string>();
  /** What the counters' table has counted: seconds until each element ends, and bytes, by set and address. */
  private counters: {
    handle: number;
    text: string;
    elements: Map<string, { expires: number; bytes: number }>;
  } | null = null;
  private handle = 0;
  /** The table that bounds each device. */
  private bounds: string | null = null;
  private limitsTable: LimitsTable | null = null;
  private readonly meddled = new Map<string, Exclude<Meddling, "missing">>();
  /** The devices that it has refused something, by set. */
  readonly refused = new Map<string, readonly string[]>();

  constructor(private readonly machine: Machine) {}

  run(command: string, stdin: string): string {
    if (command === "nft -e -s -n -f -") return this.load(stdin);
    if (command === "nft -f -" && stdin.startsWith(`add table ${COUNTERS_TABLE}\n`))
      return this.loadCounters(stdin);
    if (command === `nft -j list table ${COUNTERS_TABLE}`) return this.countersJson();
    if (command === `nft -s -t -n list table ${COUNTERS_TABLE}`)
      return this.listed(COUNTERS_TABLE, this.counters?.text.replace(/^ +elements .*\n/gm, ""));
    if (command === "nft -f -" && stdin.startsWith(ADD_ARP_TABLE)) return this.loadArp(stdin);
    if (command === "nft -s -n list table arp portcullis") return this.arp ?? missing();
    if (command === "nft -f -" && stdin.startsWith(`add table ${BOUNDS_TABLE}\n`))
      return this.loadBounds(stdin);
    if (command === `nft -s -t -n list table ${BOUNDS_TABLE}`) return this.listed(BOUNDS_TABLE, this.bounds);
    if (command === "nft -f -" && stdin.startsWith(`add table ${LIMITS_TABLE}\n`))
      return this.loadLimits(stdin);
    if (command === "nft -f -" && stdin.includes(` ${LIMITS_TABLE} `)) return this.changeLimits(stdin);
    if (command === `nft -s list table ${LIMITS_TABLE}`)
      return this.listed(LIMITS_TABLE, this.limits?.replaceAll(/ used \d+ bytes/g, ""));
    if (command === `nft -j list quotas table ${LIMITS_TABLE}`) return this.quotasJson();
    const [, noted] = new RegExp(`^nft -j list set ${BOUNDS_TABLE} (\\S+)$`).exec(command) ?? [];
    if (noted !== undefined) return this.refusedJson(noted);
    if (command === "nft -s -n list table inet portcullis") return this.table ?? missing();
    if (command === "nft -j list chains") {
      const own: [string, string][] = this.table === null ? [] : [["inet portcullis", this.table]];
      return JSON.stringify({ nftables: [...own, ...this.others].flatMap(chainsJson) });
    }
    const [, other] = /^nft -s list table (\S+ \S+)$/.exec(command) ?? [];
    return other === undefined ? unknown(command) : (this.others.get(other) ?? missing());
  }

  /** The gateway has forwarded so much for an element of a set; `received` has the marks of MAC addresses. */
  carry(set: string, element: string, bytes: number, expires = 86_400): void {
    const { elements } = this.counters ?? missing();
    if (this.meddled.get(COUNTERS_TABLE) === "dormant") return;
    const key = keyIn(set, element);
    elements.set(key, { expires, bytes: bytes + (elements.get(key)?.bytes ?? 0) });
  }

  /** It has been silent for a day. */
  expire(set: string, element: string): void {
    this.counters?.elements.delete(keyIn(set, element));
  }

  removeCounters(): void {
    this.removeOwn(COUNTERS_TABLE);
  }

  private loadCounters(text: string): string {
    if (this.isReplaced(COUNTERS_TABLE, text)) this.counters = null;
    const elements = this.counters?.elements ?? new Map();
    this.counters = {
      ...{ handle: this.counters?.handle ?? ++this.handle, elements },
      text: text.slice(text.lastIndexOf("\ntable ") + 1),
    };
    this.tell(`add table ${COUNTERS_TABLE}`);
    return "";
  }

  /** Another program does this to one of the gateway's tables. */
  meddle(table: string, how: Meddling): void {
    switch (how) {
      case "missing":
        this.removeOwn(table);
        break;
      case "dormant":
      case "flushed":
      case "altered":
        this.meddled.set(table, how);
        this.tell(`add table ${table}`);
    }
  }

  private removeOwn(table: string): void {
    this.meddled.delete(table);
    if (table === COUNTERS_TABLE) this.counters = null;
    if (table === BOUNDS_TABLE) this.bounds = null;
    if (table === LIMITS_TABLE) this.limitsTable = null;
    this.tell(`delete table ${table}`);
  }

  /** Whether a text makes the table anew. Otherwise it keeps what it does not name. */
  private isReplaced(table: string, text: string): boolean {
    const isReplaced = text.includes(`delete table ${table}\n`);
    if (isReplaced || this.meddled.get(table) !== "altered") this.meddled.delete(table);
    return isReplaced;
  }

  private listed(table: string, text: string | null | undefined): string {
    const all = text ?? missing();
    switch (this.meddled.get(table)) {
      case "dormant":
        return all.replace("{\n", "{\n  flags dormant\n\n");
      case "flushed":
        return all.replaceAll(/^( {2}chain \S+ \{\n(?: {4}type .*\n)?)(?: {4}.*\n)*/gm, "$1");
      case "altered":
        return `${all.slice(0, all.lastIndexOf("}"))}  chain other {\n    accept\n  }\n}\n`;
      case undefined:
        return all;
    }
  }

  /** Another program removes the bounds of each device. */
  removeBounds(): void {
    this.removeOwn(BOUNDS_TABLE);
  }

  private loadBounds(text: string): string {
    this.isReplaced(BOUNDS_TABLE, text);
    this.bounds = text.slice(text.lastIndexOf("\ntable ") + 1);
    this.tell(`add table ${BOUNDS_TABLE}`);
    return "";
  }

  /** The text of the table that limits devices, or null where there is none. */
  get limits(): string | null {
    return this.limitsTable?.text ?? null;
  }

  /** Another program removes the limits of devices. */
  removeLimits(): void {
    this.removeOwn(LIMITS_TABLE);
  }

  /** Devices with quotas have sent and received so much. */
  use(bytes: number): void {
    this.limitsTable?.use(bytes);
  }

  private quotasJson(): string {
    const table = this.limits ?? missing();
    const all = [...table.matchAll(/quota (\S+) \{\n {4}over (\d+) bytes used (\d+) bytes/g)];
    const nftables = all.map(([, name, bytes, used]) => ({
      quota: { name, bytes: Number(bytes), used: Math.min(Number(used), Number(bytes)), inv: true },
    }));
    return JSON.stringify({ nftables: [{ metainfo: {} }, ...nftables] });
  }

  private loadLimits(text: string): string {
    this.isReplaced(LIMITS_TABLE, text);
    this.limitsTable = LimitsTable.made(text);
    this.tell(`add table ${LIMITS_TABLE}`);
    return "";
  }

  private changeLimits(text: string): string {
    this.limitsTable = (this.limitsTable ?? missing()).changed(text);
    this.tell(`add element ${LIMITS_TABLE} to_4`);
    return "";
  }

  private refusedJson(set: string): string {
    if (this.bounds === null) missing();
    const elem = this.refused.get(set)?.map((val) => ({ elem: { val, expires: 600 } }));
    return JSON.stringify({ nftables: [{ metainfo: {} }, { set: { name: set, elem } }] });
  }

  private countersJson(): string {
    const { handle, elements } = this.counters ?? missing();
    const bySet = Map.groupBy(elements, ([key]) => key.split(" ")[0]);
    const nftables = [...bySet].flatMap(([name, all]): unknown[] => {
      const counted = all.map(([key, { expires, bytes }]) => {
        const element = key.slice(key.indexOf(" ") + 1);
        return { element, expires, counter: { packets: 1, bytes } };
      });
      if (name === "counter")
        return counted.map(({ element, counter }) => ({ counter: { name: element, ...counter } }));
      const elem = counted.map(({ element, expires, counter }) => ({
        elem: { val: name === "received" ? Number(element) : element, expires, counter },
      }));
      return [{ set: { name, elem } }];
    });
    return JSON.stringify({ nftables: [{ metainfo: {} }, { table: { handle } }, ...nftables] });
  }

  /** Another program removes the firewall's table. */
  removeTable(): void {
    this.table = null;
    this.tell("delete table inet portcullis");
  }

  removeArpTable(): void {
    this.arp = null;
    this.tell("delete table arp portcullis");
  }

  /** Another program puts a rule in front of a chain. */
  insertRule(chain: string, rule: string): void {
    const head = new RegExp(`( {2}chain ${chain} \\{\n.*\n)`);
    this.table = this.table?.replace(head, `$1    ${rule}\n`) ?? null;
    this.tell("insert rule inet portcullis output accept");
  }

  /** Another program puts a rule in the place of another. */
  replaceRule(rule: string, other: string): void {
    this.table = this.table?.replace(rule, other) ?? null;
    this.tell("replace rule inet portcullis output handle 8 accept");
  }

  /** Another program takes the rules out of all chains; the chains and their policies stay. */
  flushTable(): void {
    this.table = this.table?.replaceAll(/^ {4}(?!type |elements ).*\n/gm, "") ?? null;
    this.tell("delete rule inet portcullis output handle 8");
  }

  /** Another program switches the firewall's table off; its chains are listed as before. */
  switchTableOff(): void {
    this.table = this.table?.replace("{\n", "{\n  flags dormant\n\n") ?? null;
    this.tell("add table inet portcullis { flags dormant; }");
  }

  /** Another program loads a table of its own, or removes it. */
  setOtherTable(name: string, listing: string | null): void {
    if (listing === null) this.others.delete(name);
    else this.others.set(name, listing);
    this.tell(`${listing === null ? "delete" : "add"} table ${name}`, "8 by process 4712 (iptables)");
  }

  /** Another program takes an element out of a set, or adds one. */
  changeElement(verb: ElementChange["verb"], set: string, element: string): void {
    this.alter({ verb, set, elements: [element] });
  }

  /** All or nothing. */
  changeElements(changes: readonly ElementChange[]): string {
    const listed = chainsListed(this.table ?? "");
    for (const { table, set, type } of changes) {
      const [head = missing()] = table === "portcullis" ? (listed.get(`set ${set}`) ?? []) : [];
      if (head.replace(/^type(of)? /, "") !== type) unknown(`${set}: ${type}`);
    }
    this.alter(...changes);
    return "";
  }

  private alter(...changes: readonly Pick<ElementChange, "verb" | "set" | "elements">[]): void {
    this.table = changes.reduce(withElements, this.table ?? missing());
    this.tell("add element inet portcullis assigned { 02:00:00:00:00:01 }");
  }

  private load(text: string): string {
    const replace = `${ADD_TABLE}delete table inet portcullis\n`;
    if (!text.startsWith(replace)) unknown(text);
    const table = text.slice(replace.length);
    if (table !== "" && !table.startsWith("table inet portcullis {\n")) unknown(table);
    this.table = table === "" ? null : table;
    this.tables.push(this.table);
    this.tell("add table inet portcullis");
    return this.machine.echoes ? echoOf(table) : "";
  }

  private loadArp(text: string): string {
    const replace = `${ADD_ARP_TABLE}delete table arp portcullis\n`;
    if (!text.startsWith(replace)) unknown(text);
    const table = text.slice(replace.length);
    if (table !== "" && !table.startsWith("table arp portcullis {\n")) unknown(table);
    this.arp = table === "" ? null : table;
    this.tell("add table arp portcullis");
    return "";
  }

  private tell(line: string, generation = "7 by process 4711 (nft)"): void {
    this.machine.tell("nft", line);
    this.machine.tell("nft", `# new generation ${generation}`);
  }
}

/** The table with a set or map that has gained or lost elements; a map has a key only once. */
function withElements(
  table: string,
  { verb, set, elements }: Pick<ElementChange, "verb" | "set" | "elements">,
): string {
  const block = new RegExp(
    `( {2}(?:set|map) ${set} \\{\n {4}type(?:of)? .+\n)(?: {4}elements = \\{ (.*) \\}\n)?`,
  );
  const [whole, head, listed = ""] = block.exec(table) ?? missing();
  const keyOf = (element: string) => element.split(" : ")[0] ?? "";
  const all = new Map((listed === "" ? [] : listed.split(", ")).map((each) => [keyOf(each), each]));
  for (const element of elements) {
    const key = keyOf(element);
    if (verb === "delete" && !all.delete(key)) missing();
    if (verb === "delete") continue;
    if ((all.get(key) ?? element) !== element) fail("Device or resource busy");
    all.set(key, element);
  }
  const rest = all.size === 0 ? "" : `    elements = { ${[...all.values()].join(", ")} }\n`;
  return table.replace(whole, `${head}${rest}`);
}

/** `nft -j list chains`, of one table. */
function chainsJson([key, listing]: [string, string]): unknown[] {
  const [family, table] = key.split(" ");
  const chains = [...chainsListed(listing)].filter(([name]) => !isSet(name));
  return chains.map(([name, [head = ""]]) => {
    const [, hook] = / hook (\S+) /.exec(head) ?? [];
    const [, policy] = / policy (\S+);/.exec(head) ?? [];
    return { chain: { family, table, name, ...(hook === undefined ? {} : { hook, policy }) } };
  });
}

/** What `nft -e` says of a table that it has loaded: chains and sets come before what is in them. */
function echoOf(table: string): string {
  const all = [...chainsListed(table)];
  const sets = all.filter(([name]) => isSet(name)).map(([name, lines]) => [name.slice(4), ...lines]);
  const chains = all
    .filter(([name]) => !isSet(name))
    .map(([name, lines]) => {
      const [head = "", ...rules] = lines;
      return head.startsWith("type ") ? { name, head, rules } : { name, head: null, rules: lines };
    });
  const own = "inet portcullis";
  return [
    ...chains.map(({ name, head }) => `add chain ${own} ${name}${head === null ? "" : ` { ${head} }`}`),
    ...sets.map(([name, type]) => `add set ${own} ${name} { ${type}; } `),
    ...sets.flatMap(([name, , ...elements]) =>
      elements.map((each) => `add element ${own} ${name} { ${each} }`),
    ),
    ...chains.flatMap(({ name, rules }) => rules.map((rule) => `add rule ${own} ${name} ${rule}`)),
  ].join("\n");
}

function keyIn(set: string, element: string): string {
  return `${set} ${set === "received" ? markOfDevice(element as Mac) : element}`;
}

function missing(): never {
  return fail("No such file or directory");
}
