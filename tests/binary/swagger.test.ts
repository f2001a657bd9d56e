import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { dirname } from "node:path";
import { long } from "../fast.ts";
import { Browser } from "../rig/dashboard/browser.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";
import { BINARY } from "./client.ts";

const { test } = long("each section of the documentation page");

/** Network namespaces, a gateway and a browser that renders many operations, on a busy machine. */
const TIMEOUT_MS = 600_000;
setDefaultTimeout(TIMEOUT_MS);

/** Opens and closes the first operation of a section: the page takes more than half a second to render one. */
const openFirstOf = (section: number) => `(async () => {
  const until = async (met) => {
    while (!met()) await new Promise(requestAnimationFrame);
  };
  const open = () => document.querySelector(".opblock.is-open .responses-inner");
  const button = document.querySelectorAll(".opblock-tag-section")[${section}].querySelector(".opblock-summary-control");
  button.click();
  await until(() => open() !== null);
  button.click();
  await until(() => open() === null);
})()`;

let lab: Lab;
let gateway: Gateway;
let browser: Browser;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  // No tunnel is up, so the kill switch blocks the browser from everything except the gateway.
  gateway = await lab.startGateway({ program: [BINARY] });
  browser = await Browser.start(lab.namespaces.gateway);
}, TIMEOUT_MS);
afterAll(async () => {
  await browser?.close();
  await lab?.close();
}, TIMEOUT_MS);

test("the documentation page shows every operation, contacts no other host, and obeys its own security policy", async () => {
  const origin = `http://127.0.0.1:${gateway.port}`;
  const { page, complaints, urls } = await browser.open(`${origin}/swagger`);
  const { paths } = (await gateway.api("GET", "/swagger/json")).body;
  const listed = Object.entries<object>(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  await page.waitForFunction(`document.querySelectorAll(".opblock").length === ${listed.length}`);
  const shown = (await page.evaluate(
    `[...document.querySelectorAll(".opblock-summary")].map((each) => each.innerText.replace(/\\s+/g, " "))`,
  )) as string[];
  const isShown = (name: string) =>
    shown.some((text) => text.replaceAll("\u200b", "").startsWith(`${name} `));
  expect(listed.filter((name) => !isShown(name))).toEqual([]);
  const sections = Number(await page.evaluate(`document.querySelectorAll(".opblock-tag-section").length`));
  expect(sections).toBeGreaterThan(8);
  for (let section = 0; section < sections; section += 1) await page.evaluate(openFirstOf(section));
  expect(complaints).toEqual([]);
  expect(urls.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"))).toEqual([]);
  expect(urls).toContain(`${origin}/swagger/json`);
});

test("to open an operation costs about as much as to draw the list of all, and not the whole document again", async () => {
  const tab = await browser.open("about:blank");
  const processorMs = await tab.processorClock();
  await tab.page.goto(`http://127.0.0.1:${gateway.port}/swagger`);
  await tab.page.waitForSelector(".opblock");
  const drawn = await processorMs();
  await tab.page.evaluate(openFirstOf(0));
  const opened = (await processorMs()) - drawn;
  expect(opened).toBeGreaterThan(1);
  expect(opened).toBeLessThan(3 * drawn);
  // What a reference leads to is shown.
  await tab.page.goto(`http://127.0.0.1:${gateway.port}/swagger/#/Events/listenToEvents`);
  await tab.page.reload();
  await tab.shows(".opblock.is-open .responses-inner", /status_change|tunnel_update/);
});

test("an operation can be tried on the page", async () => {
  const { page, complaints } = await browser.open(
    `http://127.0.0.1:${gateway.port}/swagger/#/Health/checkHealth`,
  );
  const operation = "#operations-Health-checkHealth";
  for (const button of [".try-out__btn", ".execute"]) {
    await page.waitForSelector(`${operation} ${button}`);
    await page.evaluate(`document.querySelector("${operation} ${button}").click()`);
  }
  const answer = `${operation} .live-responses-table tbody`;
  await page.waitForSelector(answer);
  const text = await page.evaluate(`document.querySelector("${answer}").innerText`);
  expect(text).toStartWith("200");
  expect(text).toContain("healthy");
  expect(complaints).toEqual([]);
});

test("positive control: the browser refuses and reports a forbidden load and an inline script", async () => {
  const { page, complaints } = await browser.open(`http://127.0.0.1:${gateway.port}/swagger`);
  await page.evaluate(`fetch("http://203.0.113.80/").catch(() => {})`);
  await until(() => complaints.join().includes("connect-src 'self'"));
  await page.evaluate(
    `void document.body.append(Object.assign(document.createElement("script"), { text: "1" }))`,
  );
  await until(() => complaints.join().includes("script-src 'self'"));
});

/** What the lab has nothing for: a file to download, the VLAN of the example, and another home. */
const OTHERWISE: Record<string, number> = {
  // A plain request is not a WebSocket handshake.
  "get /ws": 426,
  "post /api/speed-tests": 500,
  "put /api/networks/{interface}": 404,
  "delete /api/networks/{interface}": 404,
  "post /api/links/take": 400,
  "patch /api/links/{name}": 500,
  "put /api/links/{name}/devices/{device}": 404,
  "delete /api/links/{name}/devices/{device}": 404,
};

test("each example request in the document succeeds", async () => {
  const { paths, components } = (await gateway.api("GET", "/swagger/json")).body;
  expect((await gateway.operate("remote", "on", "--endpoint", "home.example.org")).code).toBe(0);
  let bodies = 0;
  const unexpected: object[] = [];
  /** The ids that the gateway has given, by the path that made something. */
  const made = new Map<string, string>();
  for (const [path, operations] of Object.entries<object>(paths)) {
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const example = requestBody?.content["application/json"].examples?.example.value;
      bodies += example === undefined ? 0 : 1;
      const known = path.replace("{id}", made.get(dirname(path)) ?? "{id}");
      const filled = withExamples(known, parameters, components.schemas);
      const { status, body } = await gateway.api(method.toUpperCase(), filled, example);
      // What is for HTTPS only is not read here, where that is off.
      const isForHttps = String(body?.error).startsWith("this is served by HTTPS only");
      const expected = isForHttps ? 403 : (OTHERWISE[`${method} ${path}`] ?? 200);
      if (method === "post" && typeof body?.id === "string") made.set(path, body.id);
      if (status !== expected) unexpected.push({ method, filled, status, body });
    }
  }
  expect(unexpected).toEqual([]);
  expect(bodies).toBeGreaterThan(15);
});

/** The address with the examples of the parameters that it needs. */
function withExamples(
  path: string,
  parameters: readonly Parameter[],
  schemas: Record<string, Words>,
): string {
  const exampleOf = ({ schema: { $ref = "", ...schema }, examples }: Parameter) => {
    const { enum: words } = schemas[$ref.replace(/.*\//, "")] ?? schema;
    return examples?.example.value ?? words?.[0] ?? "";
  };
  const filled = parameters.reduce((text, each) => text.replace(`{${each.name}}`, exampleOf(each)), path);
  const query = new URLSearchParams();
  for (const each of parameters)
    if (each.in === "query" && each.required === true) query.set(each.name, exampleOf(each));
  return query.size === 0 ? filled : `${filled}?${query}`;
}

interface Words {
  enum?: string[];
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Words & { $ref?: string };
  examples?: { example: { value: string } };
}
