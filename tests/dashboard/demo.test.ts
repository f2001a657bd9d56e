import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inNamespace } from "../../src/sandbox/namespace.ts";
import { LANGUAGE_COOKIE } from "../../src/shared/languages.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { long } from "../fast.ts";
import { Browser } from "../rig/dashboard/browser.ts";
import { TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";
import { BANNER } from "../rig/demo/banner.ts";
import { buildDemo } from "../rig/demo/build.ts";
import { freePort } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page again");

setDefaultTimeout(TIMEOUT_MS);

/** Where a site has other things beside it. */
const PLACE = "/portcullis/demo/";

const NAMESPACE = `pcdemo${process.pid}`;
const machine = new LinuxHost();
const folder = mkdtempSync(join(tmpdir(), "portcullis-demo-"));
const port = freePort();
const url = `http://127.0.0.1:${port}${PLACE}`;

let server: Bun.Server<undefined>;
let browser: Browser;

/** A network namespace with nothing but a loopback, and in it a server that knows files and nothing else. */
beforeAll(async () => {
  await buildDemo(folder);
  await machine.run(["ip", "netns", "add", NAMESPACE]);
  await machine.run(["ip", "-n", NAMESPACE, "link", "set", "lo", "up"]);
  server = inNamespace(NAMESPACE, () => Bun.serve({ hostname: "127.0.0.1", port, fetch: serveFile }));
  browser = await Browser.start(NAMESPACE);
}, TIMEOUT_MS);
afterEach(() => browser.closeTabs());
afterAll(async () => {
  await browser?.close();
  await server?.stop(true);
  await machine.run(["ip", "netns", "del", NAMESPACE]);
  rmSync(folder, { recursive: true });
}, TIMEOUT_MS);

async function serveFile(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const name = pathname.startsWith(PLACE) ? pathname.slice(PLACE.length) || "index.html" : "…";
  const file = Bun.file(join(folder, name));
  return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 });
}

/** In a view: an answer that the page needs was not recorded. */
const UNKNOWN = "has no answer to that";

/** What was asked for and is not in the folder. */
const outside = (urls: readonly string[]) => urls.filter((each) => !each.startsWith(url));

test("from files alone, all views are there, without a complaint and with no request for anything else", async () => {
  const tab = await browser.open(url);
  await tab.shows(".state h1", "Protected");
  expect(await tab.text(".demonstration")).toBe(BANNER.en);
  for (const [view, title] of Object.entries(VIEWS)) {
    await look(tab, view, title);
    expect([view, await tab.text("main")]).not.toEqual([view, expect.stringContaining(UNKNOWN)]);
  }
  expect(tab.complaints).toEqual([]);
  expect(tab.urls.length).toBeGreaterThan(5);
  expect(outside(tab.urls)).toEqual([]);
  // Such a request would have been seen.
  await tab.page.evaluate(`fetch("/elsewhere")`);
  expect(outside(tab.urls)).toEqual([`http://127.0.0.1:${port}/elsewhere`]);
});

test("a change is refused, and says why", async () => {
  const tab = await browser.open(`${url}#/tunnels`);
  await tab.click("Disconnect main");
  await tab.click("Disconnect");
  await tab.shows("main", `Disconnect ${BANNER.en}`);
  expect(tab.complaints).toEqual([]);
});

test("a page that was asleep goes on where its files are", async () => {
  // Nothing is played by itself, so the page takes the gateway for lost.
  const tab = await browser.open(url, undefined, "setInterval = () => 0");
  const asked = () => tab.urls.filter((each) => each === url).length;
  await tab.shows(".state h1", "Protected");
  await until(() => asked() === 2);
  await tab.loses(".notice");
  expect(await tab.text(".state h1")).toBe("Protected");
  expect([tab.complaints, outside(tab.urls)]).toEqual([[], []]);
});

test("it says what it is in the page's language", async () => {
  const tab = await browser.open(url, undefined, `document.cookie = "${LANGUAGE_COOKIE}=de; Path=/"`);
  await tab.shows(".state h1", "Geschützt");
  expect(await tab.text(".demonstration")).toBe(BANNER.de);
});
