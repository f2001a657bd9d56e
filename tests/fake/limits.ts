import { LIMITS_TABLE, NO_LIMITS } from "../../src/network/limits-table.ts";
import { fail, unknown } from "./refusal.ts";

const BLOCK = / {2}(limit|quota|chain|map) (\S+) \{\n((?: {4}.*\n)*) {2}\}\n/g;

/** The table that limits devices: its limits, quotas, chains and maps, by kind and name. */
export class LimitsTable {
  private constructor(
    private readonly blocks: Map<string, readonly string[]>,
    /** The last change of the addresses, as it was given. */
    private readonly addresses: string,
  ) {}

  /** Null if the text removes the table. */
  static made(text: string): LimitsTable | null {
    const table = text.slice(NO_LIMITS.length);
    if (table === "") return null;
    if (!text.startsWith(NO_LIMITS) || !table.startsWith(`table ${LIMITS_TABLE} {\n`)) unknown(text);
    const blocks = new Map(
      [...table.matchAll(BLOCK)].map(([, kind, name, lines = ""]) => [
        `${kind} ${name}`,
        [...lines.matchAll(/ {4}(.*)\n/g)].map(([, line = ""]) => line),
      ]),
    );
    return new LimitsTable(blocks, addressesIn(table)).checked();
  }

  /** After a transaction, or none of it. */
  changed(text: string): LimitsTable {
    const blocks = new Map(this.blocks);
    const own = addressesIn(text);
    for (const line of text
      .slice(0, text.length - own.length)
      .split("\n")
      .slice(0, -1))
      change(blocks, line);
    return new LimitsTable(blocks, own || this.addresses).checked();
  }

  /** Devices with quotas have sent and received so much; more than its amount no quota shows. */
  use(bytes: number): void {
    for (const [key, [text = ""]] of this.blocks)
      if (key.startsWith("quota "))
        this.blocks.set(key, [text.replace(/ used (\d+) /, (_, used) => ` used ${Number(used) + bytes} `)]);
  }

  /** As it was made, with what has changed since. */
  get text(): string {
    const all = [...this.blocks].map(
      ([head, lines]) => `  ${head} {\n${lines.map((line) => `    ${line}\n`).join("")}  }\n`,
    );
    return `table ${LIMITS_TABLE} {\n${all.join("\n")}}\n${this.addresses}`;
  }

  private checked(): this {
    for (const [, bytes, used] of this.text.matchAll(/over (\d+) bytes used (\d+) bytes/g))
      if (Number(used) > Number(bytes)) fail("Error: Could not process rule: Invalid argument");
    for (const [, name] of this.text.matchAll(/(?:goto|jump) ([a-z]+_\w+)/g))
      if (!this.blocks.has(`chain ${name}`)) fail("Error: Could not process rule: No such file or directory");
    return this;
  }
}

function addressesIn(text: string): string {
  const from = text.indexOf("flush map ");
  return from < 0 ? "" : text.slice(from);
}

function change(blocks: Map<string, readonly string[]>, line: string): void {
  const words = new RegExp(`^(flush|delete|add) (\\w+) ${LIMITS_TABLE} (\\S+) ?(.*)$`).exec(line);
  const [, verb, kind = "", name = "", rest = ""] = words ?? unknown(line);
  const key = { rule: `chain ${name}`, element: `map ${name}` }[kind] ?? `${kind} ${name}`;
  const lines = blocks.get(key);
  const isThere = !(verb === "add" && ["limit", "quota", "chain"].includes(kind));
  if ((lines !== undefined) !== isThere) fail(`${line}: No such file or directory, or File exists`);
  const inside = rest.replace(/^\{ (.*) \}$/, "$1");
  if (kind === "element") blocks.set(key, withElement(lines ?? [], verb === "add", inside));
  else if (verb === "flush") blocks.set(key, lines?.filter((each) => each.startsWith("type ")) ?? []);
  else if (kind === "rule") blocks.set(key, [...(lines ?? []), rest]);
  else if (verb === "add") blocks.set(key, kind === "chain" ? [] : [inside]);
  else remove(blocks, key, kind, name);
}

function remove(blocks: Map<string, readonly string[]>, key: string, kind: string, name: string): void {
  const use = kind === "chain" ? new RegExp(`(goto|jump) ${name}\\b`) : new RegExp(`${kind} name "${name}"`);
  if ([...blocks.values()].flat().some((line) => use.test(line))) fail(`${name}: Device or resource busy`);
  blocks.delete(key);
}

function withElement(
  [type = "", listed = ""]: readonly string[],
  isAdded: boolean,
  element: string,
): string[] {
  const all = /^elements = \{ (.*) \}$/.exec(listed)?.[1]?.split(", ") ?? [];
  if (all.includes(element) === isAdded) fail(`${element}: No such file or directory, or File exists`);
  const rest = isAdded ? [...all, element] : all.filter((each) => each !== element);
  return rest.length === 0 ? [type] : [type, `elements = { ${rest.join(", ")} }`];
}
