import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import type { Look, Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig } from "../rig/dashboard/rig.ts";
import { openView, SECURE_FLAGS } from "../rig/dashboard/secure.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("each view of the page in each state");

/** Thirteen views, each looked at twice by axe-core. */
const TIMEOUT_MS = 900_000;
setDefaultTimeout(TIMEOUT_MS);
const LOOKS: readonly Look[] = [
  { width: 360, scheme: "dark" },
  { width: 1400, scheme: "light" },
];
const TV = "/api/devices/02:00:00:00:00:20";

let rig: Rig;
let tab: Tab;
let traffic: Awaited<ReturnType<Rig["lab"]["traffic"]>>;

beforeAll(async () => {
  rig = await startRig();
  rig.options.flags = SECURE_FLAGS;
  await rig.gateway.restart();
  for (const { mac, name } of rig.lab.sandbox.computers)
    await rig.gateway.api("PUT", `/api/devices/${mac}`, { name });
  await rig.gateway.api("PUT", TV, { exit: "blocked" });
  await rig.gateway.api("PUT", "/api/schedules/other%20server", { tunnel: "main", at: "04:00" });
  await rig.gateway.api("POST", "/api/destinations", { prefixes: ["192.0.2.0/28"], exit: "blocked" });
  tab = await openView(rig, "");
  await tab.shows(".state h1", "Blocked");
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

interface State {
  title: RegExp;
  begin: () => Promise<unknown>;
}

const cable = (to: string) => rig.lab.exec(rig.lab.namespaces.vpn1, ["ip", "link", "set", "wan0", to]);

/** In this order: each begins with the one before it. */
const STATES: Readonly<Record<string, State>> = {
  protected: {
    title: /^Protected$/,
    begin: async () => {
      await rig.gateway.api("POST", "/api/connect", { server: "Sweden" });
      await rig.send();
    },
  },
  "without answers of the server": {
    title: /Blocked|no internet/i,
    begin: async () => {
      // While nobody sends, the gateway asks a server seldom.
      traffic = await rig.lab.traffic(rig.lab.namespaces.client, { kinds: ["udp"], intervalMs: 500 });
      await cable("down");
    },
  },
  disconnected: {
    title: /^Blocked$|no internet/,
    begin: async () => {
      await traffic.stop();
      await cable("up");
      await rig.gateway.api("POST", "/api/disconnect");
    },
  },
  exposed: { title: /^Exposed$/, begin: () => rig.gateway.operate("killswitch", "off") },
  lost: { title: /^No answer$/, begin: () => rig.gateway.kill("SIGKILL") },
};

for (const [name, { title, begin }] of Object.entries(STATES))
  test(`${name}: axe-core finds nothing in any view, in light and dark, on a desk and on a phone`, async () => {
    await tab.page.evaluate(`location.hash = "#/"`);
    await begin();
    await tab.shows(".state h1", title);
    for (const [view, text] of Object.entries(VIEWS)) {
      if (name === "lost") await glance(view, text);
      else await look(tab, view, text);
      expect({ view, barriers: await tab.barriers(LOOKS) }).toEqual({ view, barriers: [] });
    }
  });

/** What a view has to wait for does not come from a gateway that is lost. */
async function glance(view: string, title: string): Promise<void> {
  await tab.page.evaluate(`location.hash = "#/${view}"`);
  await tab.page.waitForFunction(`document.title === ${JSON.stringify(`${title} · Portcullis`)}`);
}
