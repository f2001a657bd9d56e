import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { SECURE, SECURE_FLAGS, untilSecure } from "../rig/dashboard/secure.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("each view of the page again");

setDefaultTimeout(TIMEOUT_MS);

let rig: Rig;

beforeAll(async () => {
  rig = await startRig();
  rig.options.flags = SECURE_FLAGS;
  await rig.gateway.restart();
  await untilSecure(rig.gateway);
  const { gateway, lab } = rig;
  for (const { mac, name } of lab.sandbox.computers)
    await gateway.api("PUT", `/api/devices/${mac}`, { name });
  await gateway.api("POST", "/api/connect", { server: "Sweden" });
  await rig.send();
  await gateway.api("PUT", "/api/tunnels/tv", { provider: "managed", server: "box-vpn-2" });
  await gateway.api("PUT", "/api/schedules/night", { tunnel: "main", at: "04:00" });
  await gateway.api("POST", "/api/destinations", { prefixes: ["192.0.2.0/28"], exit: "blocked" });
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/**
 * A gateway that is newer than the page: each object has a field more, and there are events of which the page knows
 * nothing. `change` is a further change of each answer by its path.
 */
const newer = (change = "(path, answer) => answer") => `(() => {
  // Their fields are names: of countries, and of lists.
  const isMap = (name, value) => ["servers", "usable"].includes(name) && !Array.isArray(value);
  const more = (value) =>
    Array.isArray(value) ? value.map(more)
    : value === null || typeof value !== "object" ? value
    : { ...Object.fromEntries(Object.entries(value).map(([name, each]) => [name, isMap(name, each) ? each : more(each)])), novel: { is: 1 } };
  const real = fetch;
  window.fetch = async (...request) => {
    const answer = await real(...request);
    const path = new URL(String(request[0]), location.href).pathname;
    if (!answer.ok || !path.startsWith("/api/")) return answer;
    return Response.json(changed(path, more(await answer.json())));
  };
  // The page asks for several answers at once.
  const changed = (path, answer) => path !== "/api/page" ? (${change})(path, answer)
    : Object.fromEntries(Object.entries(answer).map(([name, each]) => [name, changed("/api/" + name, each)]));
  const Real = WebSocket;
  window.WebSocket = class extends Real {
    set onmessage(listener) {
      super.onmessage = listener && ((message) => {
        const { type, ...event } = JSON.parse(message.data);
        listener({ data: JSON.stringify({ type, ...more(event) }) });
        if (type !== "traffic") return;
        listener({ data: JSON.stringify({ type: "novel_update", payload: { is: 1 }, stale: ["/api/novel"] }) });
        listener({ data: JSON.stringify({ type: "novel_bare" }) });
        window.novelties = (window.novelties ?? 0) + 1;
      });
    }
    get onmessage() {
      return super.onmessage;
    }
  };
})()`;

/** The browser itself reports what was over the limit of requests, and is asked for again. */
const faults = ({ complaints }: Tab) => complaints;

test("a page meets a newer gateway: fields and events that it does not know change nothing in any view", async () => {
  const tab = await rig.browser.open(SECURE, undefined, newer());
  await tab.shows(".state h1", "Protected");
  await tab.page.waitForFunction("window.novelties > 1");
  for (const [view, title] of Object.entries(VIEWS)) {
    await look(tab, view, title);
    expect([view, faults(tab)]).toEqual([view, []]);
  }
  expect(await tab.text("section[role=alert]")).toBeNull();
});

test("what a newer gateway tells besides, the log leaves out", async () => {
  const besides = `(path, answer) => path === "/api/events" && (window.isTold = true)
      ? { ...answer, events: [...answer.events, { id: 1e6, at: "2026-01-01T00:00:00Z", type: "novel" }] }
      : answer`;
  const tab = await rig.browser.open(`${rig.url}#/log`, undefined, newer(besides));
  await tab.shows("main", "Main tunnel: connected to");
  expect(await tab.page.evaluate("window.isTold")).toBe(true);
  expect(faults(tab)).toEqual([]);
});

test("a view that a newer gateway's answer breaks says so, with a button that loads the page again; the others work", async () => {
  const broken = `(path, answer) => path === "/api/network" && !sessionStorage.getItem("again")
      ? { ...answer, lan: "lan0" }
      : answer`;
  await rig.gateway.api("POST", "/api/connect", { server: "Sweden" });
  const tab = await rig.browser.open(`${rig.url}#/setup`, undefined, newer(broken));
  await tab.shows(
    "main section[role=alert]",
    "The gateway may have been upgraded since this page was loaded.",
  );
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Devices");
  await tab.shows("main h1", "Devices");
  await tab.page.goBack();
  await tab.shows("main section[role=alert]", "This cannot be shown");
  await tab.page.evaluate(`sessionStorage.setItem("again", "yes")`);
  await Promise.all([tab.page.waitForNavigation(), tab.page.click("main section[role=alert] button")]);
  await tab.shows("main h1", "Set up the gateway");
  await tab.shows(".step:nth-child(3)", "The gateway gives addresses: off.");
});

/** A tab that gets no file of which the address has `part`, until `returns` is called: a status, or a closed port. */
async function tabWithout(part: string, status: 404 | null): Promise<{ tab: Tab; returns: () => void }> {
  const tab = await rig.browser.open("about:blank");
  await tab.page.setRequestInterception(true);
  let isGone = true;
  tab.page.on("request", (request) => {
    if (!isGone || !request.url().includes(part)) void request.continue();
    else if (status === null) void request.abort("connectionrefused");
    else void request.respond({ status, body: "" });
  });
  const returns = () => {
    isGone = false;
  };
  return { tab, returns };
}
const OTHER_VIEWS = "/others-";

test("if a file of the page is gone, as in the moment of an upgrade, it says that it is to be loaded again", async () => {
  const { tab, returns } = await tabWithout(".js", 404);
  await tab.page.goto(rig.url);
  // What the gateway has written into the page is true for a moment.
  await tab.shows(".state h1", "Protected");
  await tab.shows("#page", "If it does not appear, load it again.");
  await tab.shows(".state h1", /^$/);
  returns();
  await tab.page.reload();
  await tab.shows(".state h1", "Protected");
  expect(await tab.text("#page")).not.toContain("load it again");
});

test("if the script of the other views is gone, Home works, and a view says that it is to be loaded again", async () => {
  const { tab, returns } = await tabWithout(OTHER_VIEWS, 404);
  await tab.page.goto(rig.url);
  await tab.shows(".state h1", "Protected");
  await tab.click("Remote");
  await tab.shows(
    "main section[role=alert]",
    "The gateway may have been upgraded since this page was loaded.",
  );
  returns();
  await Promise.all([tab.page.waitForNavigation(), tab.page.click("main section[role=alert] button")]);
  await tab.shows("main h1", "Remote");
});

test("a view whose script could not be had while the service started again is there once the service is", async () => {
  const { tab, returns } = await tabWithout(OTHER_VIEWS, null);
  await tab.page.goto(`${rig.url}#/remote`);
  await tab.shows("main section[role=alert]", "This cannot be shown");
  returns();
  await rig.gateway.restart();
  await tab.shows("main h1", "Remote");
});

test("Home stays as it is when the service has started again, and the script is there for a view that needs it", async () => {
  const { tab, returns } = await tabWithout(OTHER_VIEWS, null);
  const isRefused = tab.page.waitForRequest((request) => request.url().includes(OTHER_VIEWS));
  await tab.page.goto(rig.url);
  await isRefused;
  await tab.page.evaluate("window.isSame = true");
  returns();
  await rig.gateway.kill("SIGKILL");
  await tab.shows(".state h1", "No answer");
  await rig.gateway.start();
  await tab.shows(".state h1", "Protected");
  expect(await tab.page.evaluate("window.isSame")).toBe(true);
  await tab.click("Remote");
  await tab.shows("main h1", "Remote");
});
