import { expect, test } from "bun:test";
import { join } from "node:path";
import { ALERTS } from "../../src/base/alert-rows.ts";
import { type Rows, schemaOf } from "../../src/base/fact.ts";
import { FINDINGS } from "../../src/checks/finding-rows.ts";
import { CHECKS } from "../../src/checks/rows.ts";
import { DEVICE_FACTS } from "../../src/devices/facts.ts";
import { LIMIT_FACTS } from "../../src/devices/limit-facts.ts";
import { DNS_FACTS, LIST_FACTS } from "../../src/dns/facts.ts";
import { METRICS } from "../../src/http/metrics.ts";
import { GATEWAY_FACTS, MAIN_FACTS, ROOM_FACTS } from "../../src/tunnel/gateway-facts.ts";
import { QUALITY_FACTS } from "../../src/tunnel/quality-facts.ts";
import { TUNNEL_FACTS } from "../../src/tunnel/tunnel-facts.ts";
import { ALERT_TEXTS } from "../base/sentence-rows.ts";
import { needsOf } from "../page/messages.ts";

// Tables of the docs that are made from the rows of facts. In a page, each stands between `<!-- facts: name -->` and
// `<!-- end of facts -->`, and may move anywhere. Where the page has a link of that name at its end, such as
// "[`mtu`]: #packet-size", the table leads there.

/** Set, they are written anew: `bun run goldens`. */
const IS_RENEWED = process.env.PORTCULLIS_GOLDENS === "renew";
const DOCS = join(import.meta.dir, "../../docs");
const MARKED = /(<!-- facts: ([a-z]+) -->\n)(.*?)(<!-- end of facts -->)/gs;

/** The cells of a line; the first is in code unless it is the name of an entity. */
type Line = readonly [name: string, meaning: string, ...more: string[]];
/** The heads of its columns and its lines, or a paragraph in place of a table. */
type Table =
  | { head: string; meaning?: string; more?: readonly string[]; lines: readonly Line[] }
  | { text: string };

const STATUS_FACTS = { ...MAIN_FACTS, ...ROOM_FACTS };
const TABLES: Record<string, Table> = {
  checks: { text: checkIds() },
  findings: { text: findingCodes() },
  alerts: { head: "`code`", more: ["Level", "`args`"], lines: alertLines() },
  status: { head: "Field", lines: fieldsOf(STATUS_FACTS) },
  tunnels: { head: "Field", lines: fieldsOf(TUNNEL_FACTS).filter(isOnlyOfTunnels) },
  quality: { head: "Field", lines: fieldsOf(QUALITY_FACTS) },
  devices: { head: "Field", lines: fieldsOf(DEVICE_FACTS) },
  metrics: { head: "Metric", lines: METRICS.map(({ help, ...metric }) => [seriesOf(metric), help]) },
  entities: {
    head: "Entity",
    meaning: "Field",
    lines: [
      ...entitiesOf("of Portcullis", GATEWAY_FACTS),
      ...entitiesOf("of each tunnel", TUNNEL_FACTS),
      ...entitiesOf("of each tunnel and the uplink", QUALITY_FACTS),
      ...entitiesOf("of each device", DEVICE_FACTS),
      ...entitiesOf("of each device, and shared", LIMIT_FACTS),
      ...entitiesOf("of Portcullis and each device", DNS_FACTS),
      ...entitiesOf("of each list", LIST_FACTS),
    ],
  },
};

test("each table of facts is in the docs, and says what the rows say", async () => {
  const found: string[] = [];
  for (const page of new Bun.Glob("**/*.md").scanSync(DOCS)) {
    const text = await Bun.file(join(DOCS, page)).text();
    const made = text.replaceAll(MARKED, (_, begin, name, _former, end) => {
      found.push(name);
      return `${begin}${tableOf(name, text)}${end}`;
    });
    if (IS_RENEWED && made !== text) await Bun.write(join(DOCS, page), made);
    else expect(text).toBe(made);
  }
  expect(found.toSorted()).toEqual(Object.keys(TABLES).toSorted());
});

test("each fact has a description, and its metric is one of all metrics", () => {
  const all = [STATUS_FACTS, TUNNEL_FACTS, QUALITY_FACTS, DEVICE_FACTS].flatMap(fieldsOf);
  expect(all.filter(([, meaning]) => /^(?: \(|$)/.test(meaning))).toEqual([]);
  const helps = METRICS.map(({ help }) => help);
  const measured = [STATUS_FACTS, TUNNEL_FACTS, QUALITY_FACTS, DEVICE_FACTS].flatMap((facts: Rows) =>
    Object.values(facts).flatMap(({ metric }) => metric?.help ?? []),
  );
  expect(measured.filter((help) => !helps.some((each) => each.startsWith(help)))).toEqual([]);
});

interface FieldSchema {
  type?: string;
  description?: string;
  anyOf?: readonly { const?: string }[];
  properties?: object;
}

function fieldsOf(facts: Rows): Line[] {
  const schemas = Object.entries<FieldSchema>(schemaOf(facts).properties);
  return schemas.map(([name, schema]) => [`\`${name}\``, `${schema.description ?? ""}${partsOf(schema)}`]);
}

/** The values that a field can have, or the fields of its object. */
function partsOf({ anyOf = [], properties = {} }: FieldSchema): string {
  const values = anyOf.flatMap((each) => each.const ?? []);
  const names = values.length === anyOf.length ? [...values, ...Object.keys(properties)] : [];
  return names.length === 0 ? "" : ` (${names.map((each) => `\`${each}\``).join(", ")})`;
}

/** Each alert with the arguments of all its sentences. */
function alertLines(): Line[] {
  const texts = Object.entries(ALERT_TEXTS);
  return Object.entries(ALERTS).map(([code, { title, level }]) => {
    const own = texts.filter(([key]) => key === code || key.startsWith(`${code}.`));
    const names = new Set(own.flatMap(([, text]) => [...needsOf(text).names]));
    const args = [...(own.length > 1 ? ["what"] : []), ...names].map((name) => `\`${name}\``);
    return [`\`${code}\``, title, level, args.join(", ")];
  });
}

function findingCodes(): string {
  const onLine = 12;
  const codes = Object.keys(FINDINGS).map((code) => `\`${code}\``);
  const lines = codes.flatMap((_, at) =>
    at % onLine === 0 ? [codes.slice(at, at + onLine).join(", ")] : [],
  );
  return `The codes:\n\n${lines.map((line) => `- ${line}\n`).join("")}`;
}

function isOnlyOfTunnels([name, meaning]: Line): boolean {
  return !fieldsOf(STATUS_FACTS).some(([other, same]) => name === other && meaning === same);
}

function seriesOf({ name, labels = [] }: { name: string; labels?: readonly string[] }): string {
  return labels.length === 0 ? `\`${name}\`` : `\`${name}{${labels.join(",")}}\``;
}

function entitiesOf(of: string, facts: Rows): Line[] {
  return Object.entries(facts).flatMap(([fact, { entity }]) =>
    entity === undefined ? [] : [[`${entity.name}, ${of}`, `\`${fact}\``] as const],
  );
}

/** The ids of all checks, each with those whose fault can cause its own. */
function checkIds(): string {
  const code = (id: string) => (id === "tunnel" ? "`tunnel:<name>`" : `\`${id}\``);
  const ids = Object.entries<{ title: string; after?: readonly string[] }>(CHECKS).map(
    ([id, { after = [] }]) =>
      after.length === 0 ? code(id) : `${code(id)} (may follow from ${after.map(code).join(" or ")})`,
  );
  const half = Math.ceil(ids.length / 2);
  return `The ids: ${ids.slice(0, half).join(", ")},\n${ids.slice(half).join(", ")}.\n`;
}

function tableOf(name: string, page: string): string {
  const linked = (cell: string) => (page.includes(`\n[${cell}]: `) ? `[${cell}]` : cell);
  const table = TABLES[name] ?? { text: "" };
  if ("text" in table) return table.text.replaceAll(/`[a-z]+`/g, linked);
  const { head, meaning = "Meaning", more = [], lines } = table;
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const heads = [head, meaning, ...more];
  const rows = lines.map(([cell, ...others]) => line([linked(cell), ...others]));
  return `${line(heads)}|${"---|".repeat(heads.length)}\n${rows.join("")}`;
}
