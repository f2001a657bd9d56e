import { afterAll, beforeAll, expect } from "bun:test";
import { join } from "node:path";
import { slow } from "../fast.ts";
import { parseExposition } from "./exposition.ts";
import { Home } from "./home.ts";

const { test } = slow;

const DOCS = join(import.meta.dir, "../../docs");
const text = (path: string) => Bun.file(join(DOCS, path)).text();

/** What a program reads that watches the gateway: metrics and their labels, and the fields of a status. */
let home: Home;
let metrics: ReturnType<typeof parseExposition>;
beforeAll(async () => {
  home = await Home.start();
  await home.connect();
  metrics = parseExposition((await home.send("GET", "/metrics")).text);
});
afterAll(() => home.stop());

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string };
}
async function rules(): Promise<Rule[]> {
  const { groups } = Bun.YAML.parse(await text("monitoring/portcullis-rules.yml")) as {
    groups: { rules: Rule[] }[];
  };
  return groups.flatMap((group) => group.rules);
}

interface Panel {
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr: string; legendFormat: string }[];
}
const dashboard = async (): Promise<{ panels: Panel[] }> => JSON.parse(await text("monitoring/grafana.json"));

/** The metrics of an expression with the labels that select among their samples. */
function selectorsIn(expression: string): { name: string; labels: string[] }[] {
  const found = expression.matchAll(/\b((?:portcullis|wireguard)_[a-z_]+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = "", selector = ""]) => ({
    name: name.replace(/_(bucket|sum|count)$/, ""),
    labels: [...selector.matchAll(/([a-z]+)=~?"/g)].map(([, label = ""]) => label),
  }));
}

/** Labels that Prometheus adds. */
const ADDED = ["instance", "job"];

function labelsOf(name: string): string[] {
  return [...new Set(metrics.get(name)?.samples.flatMap(({ labels }) => Object.keys(labels)))];
}

test("each metric in the alert rules is one of the gateway's, with the labels that it has", async () => {
  const all = await rules();
  for (const { alert, expr, annotations } of all) {
    for (const { name, labels } of selectorsIn(expr)) {
      expect({ alert, name, exists: metrics.has(name) }).toEqual({ alert, name, exists: true });
      for (const label of labels) expect([...ADDED, ...labelsOf(name)]).toContain(label);
      const shown = [...annotations.summary.matchAll(/\$labels\.([a-z]+)/g)].map(([, label = ""]) => label);
      for (const label of shown) expect([...ADDED, ...labelsOf(name)]).toContain(label);
    }
  }
  expect(all.flatMap(({ expr }) => selectorsIn(expr)).length).toBeGreaterThanOrEqual(all.length);
});

/** What the page says of each alert, in one sentence. */
const SAID = {
  PortcullisMissing: "the gateway",
  PortcullisKillSwitchOff: "the kill switch",
  PortcullisTunnelDown: "the tunnel `main` is missing",
  PortcullisHandshakeOld: "handshakes are old",
  PortcullisSecurityAlert: "a security alert was sent",
  PortcullisDirectAllowed: "`direct` is allowed",
  PortcullisConnectionsFull: "the connection table is nearly full",
};

test("the page names each alert, and the state in a rule is one that the gateway has", async () => {
  const all = await rules();
  expect(all.map(({ alert }) => alert)).toEqual(Object.keys(SAID));
  const [sentence = ""] = /^It alerts when .*?\./m.exec(await text("recipes.md")) ?? [];
  for (const said of Object.values(SAID)) expect(sentence).toContain(said);
  const states = metrics.get("portcullis_state")?.samples.map(({ labels }) => labels.state) ?? [];
  for (const { expr } of all)
    for (const [, state] of expr.matchAll(/state="([a-z]+)"/g)) expect(states).toContain(state as string);
});

test("each metric in the dashboard is one of the gateway's, with the labels that it has", async () => {
  const { panels } = await dashboard();
  for (const { title, targets } of panels) {
    expect({ title, targets: targets.length > 0 }).toEqual({ title, targets: true });
    for (const { expr, legendFormat } of targets) {
      const selectors = selectorsIn(expr);
      expect(selectors.length).toBeGreaterThan(0);
      for (const { name, labels } of selectors) {
        expect({ title, name, exists: metrics.has(name) }).toEqual({ title, name, exists: true });
        const shown = [...legendFormat.matchAll(/\{\{([a-z]+)\}\}/g)].map(([, label = ""]) => label);
        for (const label of [...labels, ...shown]) expect([...ADDED, ...labelsOf(name)]).toContain(label);
      }
    }
  }
});

test("the dashboard's panels do not overlap and stay on its 24 columns", async () => {
  const { panels } = await dashboard();
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
});

test("the blocks of the page are valid, and their fields are those of the gateway's answers", async () => {
  const page = await text("recipes.md");
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = ""]) => Bun.YAML.parse(block));
  expect(blocks).toHaveLength(2);
  const status = await home.status();
  const [, shown = ""] = /`customapi` reads .*, with the fields (.*)\.$/m.exec(page) ?? [];
  const fields = [...shown.matchAll(/`(\S+)`/g), ...page.matchAll(/query `(\S+)`/g)];
  expect(fields).toHaveLength(5);
  for (const [, field] of fields) expect(Object.keys(status)).toContain(field as string);
});
