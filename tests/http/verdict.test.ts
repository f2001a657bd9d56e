import { afterEach, beforeEach, expect } from "bun:test";
import { stripVTControlCharacters } from "node:util";
import type { Mac } from "../../src/base/mac.ts";
import { ENGLISH, voiceIn } from "../../src/base/voice.ts";
import { textOf } from "../../src/cli/status.ts";
import { type Known, sentenceOf } from "../../src/dashboard/sentence.ts";
import { gatewayThing } from "../../src/mqtt/gateway-entities.ts";
import { readHome } from "../../src/mqtt/home.ts";
import { verdictMessages } from "../../src/shared/verdict-messages.ts";
import { Verdict as VERDICT, type Verdict } from "../../src/tunnel/verdict.ts";
import { slow } from "../fast.ts";
import { BODY } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

// One table of the states of a gateway, each with the verdict on it. Every surface says that, and /health says why where
// the kill switch does not work as promised.

const GERMAN = voiceIn("de");
const LAPTOP = "02:00:00:00:00:10" as Mac;
const TV = "02:00:00:00:00:20" as Mac;
const SE1 = "192.0.2.1:51820";
/** Of another key, so that it can be used beside the others. */
const OSLO = {
  ...BODY,
  ...{ name: "oslo", endpoint: "192.0.2.9:51820", address: "10.64.0.9/32", location: "Oslo, Norway" },
  ...{ public_key: "kV2qCLqPc1QbL1c3ycUAiYwnDFgYhDjAvRCFGoC7gjo=", private_key: keyOf(7) },
};

let home: Home;
beforeEach(async () => {
  home = await Home.start();
  home.parts.killSwitch.setWatched(true);
  home.parts.devices.saw(null);
  for (const mac of [LAPTOP, TV]) see(mac);
});
afterEach(() => home.stop());

function see(mac: Mac): void {
  home.hear(mac, `192.168.7.${mac.slice(-2)}`);
}

/** What a device has sent counts from the second reading on. */
async function send(mac: Mac): Promise<void> {
  await home.parts.devices.list();
  await home.pass(1_000);
  home.host.carry("sent", mac, 100);
  await home.pass(1_000);
  await home.parts.devices.list();
}

async function used(): Promise<void> {
  await home.connect();
  await send(LAPTOP);
}

const change = async (method: string, path: string, body?: object) =>
  expect((await home.send(method, path, body)).status).toBe(200);

/** A tunnel tv, which the TV uses. */
async function withTv(): Promise<void> {
  await change("POST", "/api/custom/add", OSLO);
  await change("PUT", "/api/tunnels/tv", { provider: "custom", server: OSLO.name });
  await change("PUT", `/api/devices/${TV}`, { exit: "tv" });
}

const QUOTA = { megabytes: 500, every: "day" };

async function useUpQuotas(): Promise<void> {
  home.host.useQuotas(QUOTA.megabytes * 1_000_000);
  await home.parts.devices.list();
}

/** The time of day in so many hours. */
function timeIn(hours: number): string {
  const now = Temporal.Instant.fromEpochMilliseconds(Math.floor(home.host.now()));
  const zoned = now.toZonedDateTimeISO(home.parts.schedules.list().time_zone);
  return zoned.add({ hours }).toPlainTime().toString({ smallestUnit: "minute" });
}

interface Row {
  is: string;
  begin: () => Promise<unknown>;
  title: string;
  text: string | RegExp;
  why?: string | RegExp;
  /** What `/health` says of it, if that is not "healthy". */
  health?: RegExp;
}

const ROWS: Readonly<Record<string, Row>> = {
  "nobody has connected": {
    is: "blocked",
    begin: async () => {},
    title: "Blocked",
    text: "Nothing leaves: there is no tunnel.",
  },
  "the first run: a tunnel is up, and no device has sent anything": {
    is: "unused",
    begin: () => home.connect(),
    title: "Connected",
    text: "The tunnel to Stockholm, Sweden is up. No device uses it yet.",
  },
  "devices go through the tunnel": {
    is: "protected",
    begin: used,
    title: "Protected",
    text: "Everything at home goes through Stockholm, Sweden.",
  },
  "a device is blocked": {
    is: "protected",
    begin: async () => {
      await used();
      await change("PUT", `/api/devices/${TV}`, { exit: "blocked" });
    },
    title: "Protected",
    text: "Everything that is not blocked goes through Stockholm, Sweden.",
  },
  "a device and a destination leave outside the tunnels": {
    is: "protected",
    begin: async () => {
      await used();
      await home.parts.devices.setDirect(true);
      await change("PUT", `/api/devices/${TV}`, { exit: "direct" });
      await change("POST", "/api/destinations", { prefixes: ["203.0.113.0/24"], exit: "direct" });
    },
    title: "Protected, with exceptions",
    text: "1 device leaves outside the tunnels, as allowed on the gateway, and so does traffic to 203.0.113.0/24. Everything else goes through Stockholm, Sweden.",
  },
  "a device has used up its quota": {
    is: "partly",
    begin: async () => {
      await used();
      await change("PUT", `/api/devices/${TV}`, { quota: QUOTA });
      await useUpQuotas();
    },
    title: "1 device has no internet",
    text: "1 device goes through Stockholm, Sweden. Nothing leaves outside a tunnel.",
    why: "1 device has used up its quota and is blocked until it begins again.",
  },
  "all devices share a quota that is used up": {
    is: "partly",
    begin: async () => {
      await used();
      await change("PUT", "/api/shared-quota", { quota: QUOTA });
      await useUpQuotas();
    },
    title: "2 devices have no internet",
    text: "Nothing leaves.",
    why: "2 devices have used up their quota and are blocked until it begins again.",
  },
  "a schedule blocks a device, which somebody has chosen": {
    is: "protected",
    begin: async () => {
      await used();
      const times = { at: timeIn(-1), until: timeIn(1) };
      await change("PUT", "/api/schedules/night", { device: TV, exit: "blocked", ...times });
    },
    title: "Protected",
    text: "Everything that is not blocked goes through Stockholm, Sweden.",
  },
  "none of a device's tunnels is up, after which it is blocked": {
    is: "partly",
    begin: async () => {
      await used();
      await withTv();
      await change("PUT", `/api/devices/${TV}`, { exit: ["tv", "blocked"] });
      await change("POST", "/api/tunnels/tv/disconnect");
    },
    title: "1 device has no internet",
    text: "1 device goes through Stockholm, Sweden. Nothing leaves outside a tunnel.",
    why: "1 device is blocked until one of its tunnels is up.",
  },
  "every device is blocked": {
    is: "blocked",
    begin: async () => {
      await used();
      for (const mac of [LAPTOP, TV]) await change("PUT", `/api/devices/${mac}`, { exit: "blocked" });
      await change("PUT", "/api/default-exit", { exit: "blocked" });
    },
    title: "Blocked",
    text: "Nothing leaves: the exit of every device is “blocked”.",
  },
  "the tunnel of some devices is down": {
    is: "partly",
    begin: async () => {
      await used();
      await withTv();
      await change("POST", "/api/tunnels/tv/disconnect");
    },
    title: "1 device has no internet",
    text: "1 device goes through Stockholm, Sweden. Nothing leaves outside a tunnel.",
    why: "The tunnel tv is disconnected: 1 device is blocked until it is connected.",
  },
  "the tunnel of most devices carries nothing": {
    is: "partly",
    begin: async () => {
      await used();
      await withTv();
      await change("PUT", `/api/devices/${TV}`, { exit: "main" });
      see("02:00:00:00:00:30" as Mac);
      await change("PUT", "/api/devices/02:00:00:00:00:30", { exit: "tv" });
      home.parts.controller.unanswered();
    },
    title: "2 devices have no internet",
    text: /^1 device goes through .*\. Nothing leaves outside a tunnel\.$/,
    why: "The main tunnel carries no data: 2 devices have no internet.",
  },
  "the only tunnel carries nothing": {
    is: "stalled",
    begin: async () => {
      await used();
      home.parts.controller.unanswered();
    },
    title: "No data gets through",
    text: "Protected, but no data gets through Stockholm. Try another server.",
    why: /answers handshakes/,
  },
  "the server is silent": {
    is: "blocked",
    begin: async () => {
      await used();
      home.host.silent.add(SE1);
      home.parts.controller.lost("se-1 is silent");
    },
    title: "Blocked",
    text: "Nothing leaves: se-1 does not answer. The gateway keeps trying.",
    why: "se-1 is silent.",
  },
  "a first connect is under way": {
    is: "moving",
    begin: async () => dial("se-1"),
    title: "Connecting",
    text: "Connecting to se-1. Nothing leaves outside a tunnel meanwhile.",
  },
  "the tunnel moves": {
    is: "moving",
    begin: async () => {
      await used();
      await change("POST", "/api/custom/add", BODY);
      home.parts.catalogue.use("custom");
      await dial(BODY.name);
    },
    title: `Still through Stockholm; trying ${BODY.name}`,
    text: `Nothing changes until ${BODY.name} answers. If it does not answer, nothing changes at all.`,
  },
  "a move has failed": {
    is: "protected",
    begin: async () => {
      await used();
      await change("POST", "/api/custom/add", BODY);
      home.parts.catalogue.use("custom");
      await dial(BODY.name);
      await home.pass(60_000);
    },
    title: "Protected",
    text: "Everything at home goes through Stockholm, Sweden.",
    why: /^The last connect failed, and nothing has changed\. .*did not answer/,
  },
  "another program has removed the firewall": {
    is: "weakened",
    begin: async () => {
      await used();
      home.host.removeTable();
      home.parts.killSwitch.changed();
      home.hold("nft -e -s -n -f -");
    },
    title: "Weakened",
    text: "One of the kill switch’s two layers, the firewall, is not in place. The other one still blocks what would leave outside a tunnel.",
    why: "The gateway repairs it by itself. If it stays so, another program undoes each repair.",
    health: /^the kill switch's rules are not in the kernel/,
  },
  "redirects lead devices past the gateway": {
    is: "weakened",
    begin: async () => {
      await used();
      home.host.files.set("/proc/sys/net/ipv4/conf/all/send_redirects", "1\n");
      await home.pass(1_000);
    },
    title: "Weakened",
    text: "One of the kill switch’s two layers, the routing, is not in place. The other one still blocks what would leave outside a tunnel.",
    why: "The gateway repairs it by itself. If it stays so, another program undoes each repair.",
    health: /^a part of the kill switch is not in place: ICMP redirects/,
  },
  "the kill switch was turned off": {
    is: "exposed",
    begin: async () => {
      await used();
      await home.parts.operatorSwitch.turn(false);
    },
    title: "Exposed",
    text: "The kill switch was turned off on the gateway: traffic might leave outside the tunnel.",
  },
};

function keyOf(byte: number): string {
  return new Uint8Array(32).fill(byte).toBase64();
}

/** Begins a connect to a server that does not answer. */
async function dial(server: string): Promise<void> {
  const endpoint = server === "se-1" ? SE1 : BODY.endpoint;
  home.host.silent.add(endpoint);
  void home.parts.connects.connect({ server }).catch(() => {});
  const isDialled = () =>
    [...home.host.links.values()].some(({ device }) => device?.peer?.endpoint === endpoint);
  while (!isDialled()) await Bun.sleep(1);
}

test.each(Object.entries(ROWS))("%s: each surface says the same", async (_, row) => {
  await row.begin();
  const { verdict } = await home.status();
  const { title, text } = row;
  expect([verdict.name, verdict.title]).toEqual([row.is, title]);
  expect(verdict.text).toEqual(matching(text));
  expect(verdict.why).toEqual(row.why === undefined ? null : matching(row.why));
  expect(await page()).toEqual({ title, text: verdict.text, why: verdict.why });
  for (const said of [title, verdict.text, verdict.why ?? ""]) expect(await commandLine()).toContain(said);
  expect(await homeAssistant()).toEqual(verdict);
  expect(await home.parts.overview.verdict(ENGLISH)).toMatchObject({ title });
  expect(await servedPage("en")).toEqual({ lang: "en", name: row.is, title, text: verdict.text });
  await isSaidInGerman(verdict);
  const { status, text: health } = await home.send("GET", "/health");
  expect([status, health]).toEqual(
    row.health === undefined ? [200, "healthy"] : [500, expect.stringMatching(row.health)],
  );
});

test("the table has every verdict but the one on what could not be read", () => {
  const { anyOf } = VERDICT.properties.name;
  const all = anyOf.map(({ const: name }) => `${name}`).filter((name) => name !== "unknown");
  expect([...new Set(Object.values(ROWS).map(({ is }) => is))].toSorted()).toEqual(all.toSorted());
});

test("what could not be read is not known on any surface, and is no health", async () => {
  await used();
  home.parts.killSwitch.setWatched(false);
  home.host.fails = () => "before";
  const statuses = await Promise.all(["/api/killswitch", "/health"].map((path) => home.send("GET", path)));
  expect(statuses.map(({ status }) => status)).toEqual([500, 500]);
  const status = await home.status();
  expect(status.verdict).toEqual({
    name: "unknown",
    title: "Not known",
    text: "It is not known whether the kill switch is in place.",
    why: null,
  });
  const asked = { connection: { name: "live" }, tunnels: [], devices: null, network: null } as const;
  const known: Known = { ...asked, status, killswitch: null, unread: "nft failed.", destinations: [] };
  expect(sentenceOf(known).title).toBe("Not known");
  expect(textOf(status, 0)).toContain("Not known");
  expect(await home.parts.overview.verdict(ENGLISH)).toBeNull();
  expect(await servedPage("en")).toBeNull();
});

function matching(text: string | RegExp): unknown {
  return typeof text === "string" ? text : expect.stringMatching(text);
}

/** As the page judges it, from the answers that it reads. */
async function page() {
  const ask = async (path: string) => (await home.send("GET", `/api/${path}`)).json;
  const known: Known = {
    connection: { name: "live" },
    status: await ask("status"),
    tunnels: (await ask("tunnels")).tunnels,
    devices: await ask("devices"),
    killswitch: await ask("killswitch"),
    network: await ask("network"),
    destinations: (await ask("destinations")).destinations,
  };
  const { title, text, why } = sentenceOf(known);
  return { title, text, why };
}

/** What stands in the page before its script runs; null if nothing does. */
async function servedPage(language: string) {
  // Without the pause of other requests, in which what is under way would end.
  const headers = { "Accept-Language": `${language}-XX, en;q=0.5` };
  const html = await (await fetch(`http://127.0.0.1:${home.port}/`, { headers })).text();
  const [, lang, name, title = "", text = ""] =
    /lang="(..)" data-name="(\w+)" .*?><h1>(.*?)<\/h1><p class="sentence">(.*?)<\/p>/.exec(html) ?? [];
  if (lang === undefined) return null;
  const [shownTitle, shownText] = [title, text].map((each) =>
    each.replaceAll("&quot;", '"').replaceAll("&#x27;", "'"),
  );
  return { lang, name, title: shownTitle, text: shownText };
}

/** On one line, as it is wrapped nowhere. */
async function commandLine(): Promise<string> {
  return stripVTControlCharacters(textOf(await home.status(), home.host.now()));
}

async function homeAssistant(voice = ENGLISH): Promise<Verdict> {
  const { states } = gatewayThing(await readHome(home.parts, null, voice), undefined, null, false);
  return (states.state as { verdict: Verdict }).verdict;
}

/** Home Assistant and the titles of notifications are in the language that a person has set. */
async function isSaidInGerman({ title, text, ...same }: Verdict): Promise<void> {
  const german = await homeAssistant(GERMAN);
  expect(await home.parts.overview.verdict(GERMAN)).toMatchObject({ title: german.title });
  const { name, text: germanText, title: germanTitle } = german;
  expect(await servedPage("de")).toEqual({ lang: "de", name, title: germanTitle, text: germanText });
  expect(german).toMatchObject({
    name: same.name,
    ...(same.through !== undefined && { through: same.through }),
  });
  expect([german.title, german.text]).not.toContain(title);
  expect(german.text).not.toBe(text);
}

test("in another language each sentence of the verdict is said in it", async () => {
  const messages = Object.entries(verdictMessages());
  expect(messages.map(([code]) => code).toSorted()).toEqual(["de", "es", "fr", "pt", "ru", "zh"]);
  const all = Object.keys(verdictMessages().de ?? {});
  expect(all.length).toBeGreaterThan(40);
  for (const [code, texts] of messages) expect([code, Object.keys(texts)]).toEqual([code, all]);
  await used();
  expect(await homeAssistant(GERMAN)).toMatchObject({
    title: "Geschützt",
    text: expect.stringContaining("Stockholm, Sweden"),
  });
  expect(await homeAssistant(voiceIn("xx"))).toMatchObject({ title: "Protected" });
});
