import { afterAll, beforeAll, expect, test } from "bun:test";
import { createLab, type Gateway, type Lab } from "../lab/lab.ts";
import { Chromium } from "./chromium.ts";
import { BINARY } from "./client.ts";

/** Network namespaces, a gateway and a browser on a busy machine. */
const TIMEOUT_MS = 300_000;

let lab: Lab;
let gateway: Gateway;
let browser: Chromium;

beforeAll(async () => {
  lab = await createLab({ arms: 2 });
  // No tunnel is up, so the kill switch blocks the browser from everything except the gateway.
  gateway = await lab.startGateway({ inNamespace: true, program: [BINARY] });
  browser = await Chromium.start(lab.namespaces.gateway);
}, TIMEOUT_MS);
afterAll(async () => {
  await browser?.close();
  await lab?.close();
}, TIMEOUT_MS);

test(
  "the documentation page shows every operation, contacts no other host, and obeys its own security policy",
  async () => {
    const origin = `http://127.0.0.1:${gateway.port}`;
    await browser.open(`${origin}/swagger`);
    await browser.until("document.querySelectorAll('.opblock').length >= 11");
    const shown = await browser.evaluate(
      "[...document.querySelectorAll('.opblock-summary')].map((each) => each.innerText.replace(/\\s+/g, ' '))",
    );
    const document = (await gateway.api("GET", "/swagger/json")).body;
    const listed = Object.entries<object>(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => ({ path, method: method.toUpperCase() })),
    );
    for (const { path, method } of listed) {
      const name = `${method} ${path}`;
      const fits = (text: string) => text.replaceAll("\u200b", "").startsWith(`${name} `);
      expect({ name, shown: shown.some(fits) }).toEqual({ name, shown: true });
    }
    // Open each one, so that the page renders everything.
    await browser.evaluate(
      "document.querySelectorAll('.opblock-summary-control').forEach((each) => each.click())",
    );
    await browser.until("document.querySelectorAll('.opblock.is-open .responses-inner').length >= 11");
    if (process.env.SCREENSHOT) await Bun.write(process.env.SCREENSHOT, await browser.screenshot());
    expect(browser.complaints).toEqual([]);
    expect(browser.urls.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"))).toEqual(
      [],
    );
    expect(browser.urls).toContain(`${origin}/swagger/json`);
  },
  TIMEOUT_MS,
);

test(
  "an operation can be tried on the page",
  async () => {
    await browser.open(`http://127.0.0.1:${gateway.port}/swagger/#/Health/getHealth`);
    const operation = "document.querySelector('#operations-Health-getHealth')";
    for (const button of [".try-out__btn", ".execute"]) {
      await browser.until(`${operation}?.querySelector('${button}') != null`);
      await browser.evaluate(`${operation}.querySelector('${button}').click()`);
    }
    const answer = `${operation}.querySelector('.live-responses-table tbody')`;
    await browser.until(`${answer} !== null`);
    const text: string = await browser.evaluate(`${answer}.innerText`);
    expect(text).toStartWith("200");
    expect(text).toContain("healthy");
    expect(browser.complaints).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "positive control: the browser refuses and reports a forbidden load and an inline script",
  async () => {
    await browser.evaluate(`fetch("http://203.0.113.80/").catch(() => {})`);
    expect(browser.complaints.join()).toContain("connect-src 'self'");
    await browser.evaluate(
      `document.body.append(Object.assign(document.createElement("script"), { text: "1" }))`,
    );
    await browser.until("true");
    expect(browser.complaints.join()).toContain("script-src 'self'");
  },
  TIMEOUT_MS,
);

test(
  "each example request in the document succeeds",
  async () => {
    const { paths } = (await gateway.api("GET", "/swagger/json")).body;
    let bodies = 0;
    for (const [path, operations] of Object.entries<object>(paths)) {
      for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
        const [example] = requestBody?.content["application/json"].schema.examples ?? [];
        bodies += example === undefined ? 0 : 1;
        const filled = parameters.reduce(
          (text: string, { name, schema }: Parameter) =>
            text.replace(`{${name}}`, schema.example ?? schema.anyOf?.[0]?.const ?? ""),
          path,
        );
        const { status, body } = await gateway.api(method.toUpperCase(), filled, example);
        // A plain request is not a WebSocket handshake.
        const expected = path === "/ws" ? 426 : 200;
        expect({ method, filled, status, body }).toMatchObject({ method, filled, status: expected });
        // Five a second are within the rate limit.
        await Bun.sleep(250);
      }
    }
    expect(bodies).toBe(9);
  },
  TIMEOUT_MS,
);

interface Parameter {
  name: string;
  schema: { example?: string; anyOf?: { const: string }[] };
}
