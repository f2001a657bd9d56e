import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARCHIVES, zipOf } from "../cli/archives.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const SERVERS = 20_000;
const ANSWERS_WITHIN_MS = 100;
const FLAGS = ["--host", "::"];

let rig: Rig;
let tab: Tab;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-servers-"));
  rig = await startRig();
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  rig.options.flags = FLAGS;
  await rig.reset();
  tab = await rig.browser.open(`${rig.url}#/servers`);
}, TIMEOUT_MS);
afterAll(async () => {
  await rig?.close();
  rmSync(folder, { recursive: true });
}, TIMEOUT_MS);

const api = (...request: Parameters<Rig["gateway"]["api"]>) => rig.gateway.api(...request);

async function connect(server: string): Promise<void> {
  expect((await api("POST", "/api/connect", { server })).status).toBe(200);
  await tab.shows(".where", `Connected to ${server}`);
}

/** The visible text of the card with this heading; null if there is none. */
async function card(heading: string): Promise<string | null> {
  const text = await tab.page.evaluate(`(() => {
    const isIt = (each) => each.querySelector("h2")?.innerText === ${JSON.stringify(heading)};
    return [...document.querySelectorAll(".card")].find(isIt)?.innerText ?? null;
  })()`);
  return text === null ? null : String(text).replace(/\s+/g, " ").trim();
}

async function cardShows(heading: string, text: string | RegExp | null): Promise<void> {
  let found: string | null = null;
  await until(
    async () => {
      // A page that is being loaded cannot be asked.
      found = await card(heading).catch(() => null);
      if (text === null || found === null) return found === text;
      return typeof text === "string" ? found.includes(text) : text.test(found);
    },
    undefined,
    25,
  ).catch(() => {
    throw new Error(`${heading} does not show ${text}, but: ${found}`);
  });
}

test("a click on a place shows progress at once, and connects to the nearest server there", async () => {
  await tab.shows(".where", "Not connected.");
  await cardShows(
    "All servers",
    "Netherlands Amsterdam · 1 server Connect box-vpn-2 Connect Sweden Gothenburg · 1 server Connect box-vpn-1",
  );
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Connect to Sweden");
  await cardShows("All servers", "Connecting…");
  await tab.shows(".where", "Connected to box-vpn-1, Gothenburg, Sweden.");
  await cardShows("All servers", "box-vpn-1 Connected");
  await cardShows("Recent", "box-vpn-1 VPN account");
  expect(await tab.barriers()).toEqual([]);
});

test("a star makes a server a favourite of everybody, and takes it back", async () => {
  const pressed = () =>
    tab.page.evaluate(`document.querySelector("[aria-label='Favourite: box-vpn-2']").ariaPressed`);
  await cardShows("All servers", "box-vpn-2");
  expect(await pressed()).toBe("false");
  await tab.click("Favourite: box-vpn-2");
  await cardShows("Favourites", "box-vpn-2 VPN account");
  await until(async () => (await pressed()) === "true");
  const other = await rig.browser.open(`${rig.url}#/servers`);
  await other.shows("h2", "Favourites");
  await tab.page.reload();
  await cardShows("Favourites", "box-vpn-2");
  await tab.click("Favourite: box-vpn-2");
  await cardShows("Favourites", null);
  await until(async () => (await other.text("main"))?.includes("Favourites") === false);
  expect((await api("GET", "/api/favourites")).body.favourites).toEqual([]);
});

test("a connect that fails says so in its row, and the tunnel stays where it was", async () => {
  const { vpn2 } = rig.lab.namespaces;
  const cable = (to: "up" | "down") => rig.lab.exec(vpn2, ["ip", "link", "set", "wan0", to]);
  await connect("box-vpn-1");
  await cable("down");
  try {
    await tab.click("Connect to box-vpn-2");
    await tab.shows(
      ".server:has([aria-label='Favourite: box-vpn-2']) .failed",
      "did not answer the WireGuard handshake",
    );
    await tab.shows(".where", "Connected to box-vpn-1");
    expect(await tab.barriers()).toEqual([]);
  } finally {
    await cable("up");
  }
});

test("a server is reached through another one if that was chosen, and only those that can be are listed", async () => {
  await connect("box-vpn-1");
  await tab.choose("Connect through", "box-vpn-2");
  await tab.shows(".entry-choice", "Two hops: box-vpn-2 forwards what is encrypted");
  await tab.shows(".places", /^(?!.*Netherlands).*Sweden/);
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Connect to box-vpn-1 via box-vpn-2");
  await tab.shows(".where", "Connected to box-vpn-1, Gothenburg, Sweden, via box-vpn-2.");
  expect((await api("GET", "/api/status")).body).toMatchObject({ server: "box-vpn-1", via: "box-vpn-2" });
  await cardShows("All servers", /box-vpn-1 .*Connected/);
  await tab.choose("Connect through", "no entry server");
  await tab.click("Connect to box-vpn-1");
  await tab.shows(".where", "Connected to box-vpn-1, Gothenburg, Sweden.");
});

test("the provider can be chosen, also by another person, and an empty list says what fills it", async () => {
  await (await tab.page.waitForSelector("input[value=custom] + span"))?.click();
  await cardShows("All servers", "You have not added a server yet.");
  expect((await api("GET", "/api/providers")).body.current).toBe("custom");
  expect(await tab.barriers()).toEqual([]);
  await api("POST", "/api/provider/imported");
  await cardShows("All servers", "You have not imported a server yet.");
  await tab.shows(".chosen", "Imported 0");
});

test("a server of one's own is added by a form, connected to, and removed after a question", async () => {
  const { customBody } = rig.lab.sandbox.servers[1];
  await api("POST", "/api/provider/custom");
  await cardShows("All servers", "You have not added a server yet.");
  await tab.click("Add a server…");
  await tab.page.click("dialog summary");
  for (const [name, value] of Object.entries({ ...customBody, name: "my own" }))
    await tab.page.type(`[name=${name}]`, String(value));
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Add the server");
  await cardShows("All servers", "Netherlands Amsterdam · 1 server Connect my own Remove Connect");
  await tab.click("Connect to my own");
  await tab.shows(".where", "Connected to my own, Amsterdam, Netherlands.");
  // What a tunnel uses cannot be removed, which the page does not offer.
  await cardShows("All servers", /my own Connected$/);
  await api("POST", "/api/disconnect");
  await api("PUT", "/api/tunnels/tv", { provider: "custom", server: "my own" });
  await tab.click("Remove my own");
  await tab.shows("dialog[open]", "Remove the server my own?");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Remove");
  await cardShows("All servers", "The tunnel tv uses this server");
  await api("DELETE", "/api/tunnels/tv");
  await tab.click("Remove my own");
  await tab.press("Escape");
  await tab.loses("dialog");
  expect((await api("GET", "/api/servers/counts")).body.usable.custom).toBe(1);
  await tab.click("Remove my own");
  await tab.click("Remove");
  await cardShows("All servers", "You have not added a server yet.");
});

test("a zip is imported by dropping it on any view, and files by choosing them", async () => {
  await tab.page.evaluate(`location.hash = "#/"`);
  await tab.shows(".state h1", "Blocked");
  await tab.drop({
    "servers.zip": ARCHIVES.deflated,
    "broken.zip": ARCHIVES.deflated.slice(0, 300),
    "inner.zip": zipOf("inner.conf", ARCHIVES.stored),
  });
  await tab.shows(
    "dialog[open]",
    "2 servers imported, 2 refused. broken.zip was refused The archive is damaged. inner.zip: inner.conf was refused It is not a text file",
  );
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Show imported servers");
  // The name of one tells where it is, and a person where the other one is.
  await cardShows("All servers", "Sweden 1 server Connect se-1 Place… Remove Connect Without a place");
  await tab.click("Place of nø-2…");
  await tab.type("Place", "Oslo, Norway");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Save the place");
  await cardShows("All servers", "Norway Oslo · 1 server Connect nø-2 Place… Remove Connect Sweden");
  const path = join(folder, "se-1.conf");
  writeFileSync(path, rig.lab.sandbox.servers[1].importText);
  const input = await tab.page.waitForSelector("input[type=file]");
  await (input as unknown as { uploadFile(path: string): Promise<void> } | null)?.uploadFile(path);
  await tab.shows("dialog[open]", "0 servers imported, 1 refused. se-1.conf was refused It is taken;");
  await tab.type("Another name for se-1.conf", "se/1");
  await tab.click("Import");
  await tab.shows("dialog[open] .field .failed", "It contains a slash.");
  await tab.focuses("name");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Another name for se-1.conf", "se-1b");
  await tab.press("Enter");
  await tab.shows("dialog[open]", "1 server imported. se-1b was imported");
  await tab.click("Close");
  expect((await api("GET", "/api/servers/counts")).body.usable.imported).toBe(3);
});

test("an imported file of AmneziaWG is listed as one, and its tunnel says how it is reached", async () => {
  const { importText } = rig.lab.sandbox.servers[1];
  // Junk before a handshake is the client's alone: a plain server answers.
  const path = join(folder, "hidden.conf");
  writeFileSync(path, importText.replace("[Interface]", "[Interface]\nJc = 3\nJmin = 20\nJmax = 60"));
  await api("POST", "/api/provider/imported");
  await cardShows("All servers", "You have not imported a server yet.");
  const input = await tab.page.waitForSelector("input[type=file]");
  await (input as unknown as { uploadFile(path: string): Promise<void> } | null)?.uploadFile(path);
  await tab.shows("dialog[open]", "1 server imported. hidden was imported");
  await tab.click("Close");
  await cardShows("All servers", "hidden by AmneziaWG");
  await tab.click("Connect to hidden");
  await tab.shows(".where", "Connected to hidden");
  await tab.page.evaluate(`location.hash = "#/tunnels"`);
  await tab.shows("main", "by AmneziaWG, as its configuration says");
});

test("the round trips that a connect to a place has measured are shown", async () => {
  const servers = rig.lab.sandbox.servers.map(({ hostname, ipv4, port, publicKey }) => ({
    ...{ hostname, ipv4, port, public_key: publicKey },
    ...{ country: "Sweden", city: "Gothenburg" },
  }));
  await useList(servers);
  await cardShows("All servers", /Sweden (Gothenburg · )?2 servers/);
  await tab.click("Connect to Sweden");
  await tab.shows(".where", "Connected to box-vpn-");
  await cardShows("All servers", /box-vpn-1 [\d.]+ ms .*box-vpn-2 [\d.]+ ms/);
});

/** Restarts the gateway with another list of the VPN account's servers. */
async function useList(servers: readonly Record<string, unknown>[]): Promise<void> {
  const path = join(folder, "servers.json");
  writeFileSync(path, JSON.stringify({ servers }));
  rig.options.flags = [...FLAGS, "--managed-list", path];
  await rig.gateway.restart();
}

test("a search among 20,000 servers answers within 100 ms of a key", async () => {
  const servers = Array.from({ length: SERVERS }, (_, n) => ({
    hostname: `server-${n}`,
    country: `Country ${n % 60}`,
    city: `City ${n % 300}`,
    ipv4: `198.51.${n >> 8}.${n % 256}`,
    port: 51820,
    public_key: Buffer.alloc(32, `key ${n}`).toString("base64"),
  }));
  await useList(servers);
  await cardShows("All servers", "Country 59 333 servers");
  expect(await tab.barriers()).toEqual([]);
  const costs: number[] = [];
  const processorMs = await tab.processorClock();
  for (const key of "city 12") {
    const before = await processorMs();
    await tab.page.evaluate(`new Promise((resolve) => {
        const input = document.querySelector("input[type=search]");
        input.value += ${JSON.stringify(key)};
        input.dispatchEvent(new InputEvent("input", { bubbles: true }));
        // After the next picture is drawn.
        requestAnimationFrame(() => setTimeout(resolve));
      })`);
    costs.push((await processorMs()) - before);
  }
  await cardShows("All servers", /\d+ servers found\./);
  expect(Math.min(...costs)).toBeGreaterThan(1);
  expect(costs.filter((ms) => ms > ANSWERS_WITHIN_MS)).toEqual([]);
  expect(await tab.barriers()).toEqual([]);
  const rows = await tab.page.evaluate(`document.querySelectorAll(".server").length`);
  expect(Number(rows)).toBeLessThan(100);
});
