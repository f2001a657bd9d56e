import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { LANGUAGES } from "../../src/dashboard/languages/all.ts";
import { long } from "../fast.ts";
import { said } from "../page/messages.ts";
import { type Look, type Tab, wishing } from "../rig/dashboard/browser.ts";
import { type Rig, startRig } from "../rig/dashboard/rig.ts";
import { openView, SECURE, SECURE_FLAGS } from "../rig/dashboard/secure.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("each view of the page in each state");

/** Thirteen views, each looked at twice by axe-core, and once in each other language. */
const TIMEOUT_MS = 900_000;
setDefaultTimeout(TIMEOUT_MS);
const LOOKS: readonly Look[] = [
  { width: 360, scheme: "dark" },
  { width: 1400, scheme: "light" },
];
const TV = "/api/devices/02:00:00:00:00:20";

const OTHERS = LANGUAGES.map(({ code }) => code).filter((code) => code !== "en");

let rig: Rig;
/** In English. */
let tab: Tab;
/** In each other language, once the gateway is lost, from which nothing more can be loaded. */
const kept = new Map<string, Tab>();
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

const open = (code: string) => rig.browser.open(SECURE, undefined, wishing(code));

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
  lost: {
    title: /^No answer$/,
    begin: async () => {
      for (const code of OTHERS) {
        const other = await open(code);
        for (const [view, text] of Object.entries(VIEWS)) await look(other, view, said(code, text));
        kept.set(code, other);
      }
      await rig.gateway.kill("SIGKILL");
    },
  },
};

for (const [name, { title, begin }] of Object.entries(STATES)) {
  const see: typeof look = name === "lost" ? glance : look;

  test(`${name}: axe-core finds nothing in any view, in light and dark, on a desk and on a phone`, async () => {
    await tab.page.evaluate(`location.hash = "#/"`);
    await begin();
    await tab.shows(".state h1", title);
    for (const [view, text] of Object.entries(VIEWS)) {
      await see(tab, view, text);
      expect({ view, barriers: await tab.barriers(LOOKS) }).toEqual({ view, barriers: [] });
    }
  });

  for (const [index, code] of OTHERS.entries())
    test(`${name}, in ${code}: axe-core finds nothing in any view`, async () => {
      const other = kept.get(code) ?? (await open(code));
      const looks = LOOKS.slice(index % LOOKS.length).slice(0, 1);
      for (const [view, text] of Object.entries(VIEWS)) {
        await see(other, view, said(code, text));
        expect({ view, barriers: await other.barriers(looks) }).toEqual({ view, barriers: [] });
      }
      // What is looked at costs the processor much.
      await other.page.browserContext().close();
    });
}

/** What a view has to wait for does not come from a gateway that is lost. */
async function glance(tab: Tab, view: string, title: string): Promise<void> {
  await tab.page.evaluate(`location.hash = "#/${view}"`);
  await tab.page.waitForFunction(`document.title === ${JSON.stringify(`${title} · Portcullis`)}`);
}
