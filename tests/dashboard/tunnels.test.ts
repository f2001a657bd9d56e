import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { TUNNEL } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { EphemeralService } from "../rig/peers/ephemeral-service.ts";
import { until } from "../rig/tools/until.ts";

const further = long("beyond the main paths of the view");

setDefaultTimeout(TIMEOUT_MS);

const MAIN = ".tunnel:nth-of-type(1)";
const TV = ".tunnel:nth-of-type(2)";
const DIALOG = "dialog[open]";
const TV_DEVICE = "/api/devices/02:00:00:00:00:20";

let rig: Rig;
let tab: Tab;
let other: Tab;

beforeAll(async () => {
  rig = await startRig();
  const { managedList } = rig.lab.sandbox.files;
  const list = JSON.parse(readFileSync(managedList, "utf8"));
  list.servers[0].ephemeral_peers = true;
  writeFileSync(managedList, JSON.stringify(list));
  await rig.gateway.api("PUT", TV_DEVICE, { name: "TV" });
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await rig.reset();
  tab = await rig.browser.open(`${rig.url}#/tunnels`);
  other = await rig.browser.open(`${rig.url}#/tunnels`);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/** A second tunnel, which is the exit of the TV. */
async function addTv(): Promise<void> {
  await change("PUT", "/api/tunnels/tv", { provider: "managed", server: "box-vpn-2" });
  await change("PUT", TV_DEVICE, { exit: "tv" });
}

async function change(method: string, path: string, body?: unknown): Promise<void> {
  expect(await rig.gateway.api(method, path, body)).toMatchObject({ status: 200 });
}

/** Plays this while the server of the tunnel tv is silent. */
async function whileSilent(work: () => Promise<void>): Promise<void> {
  const cable = (to: string) => rig.lab.exec(rig.lab.namespaces.vpn2, ["ip", "link", "set", "wan0", to]);
  await cable("down");
  await work().finally(() => cable("up"));
}

const rows = async () => (await rig.gateway.api("GET", "/api/tunnels")).body.tunnels;

test("a tunnel that leads nowhere says so, and a click leads it somewhere", async () => {
  await tab.shows(MAIN, "main Disconnected: no server is chosen.");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Connect main");
  await tab.shows(DIALOG, "Change the server of the main tunnel");
  await tab.type("Server, city or country", "Gothenburg");
  await tab.click("Connect");
  await tab.shows(MAIN, "Connected to Gothenburg, Sweden");
  await tab.shows(MAIN, "Server box-vpn-1");
  await tab.shows(MAIN, "The main tunnel is connected.");
  await tab.focuses("Change server: main");
  await other.shows(MAIN, "Connected to Gothenburg, Sweden");
  expect(await tab.barriers()).toEqual([]);
});

test("a new tunnel is made by form; what is wrong is said in the form, which stays open", async () => {
  await tab.click("Add a tunnel");
  await tab.shows(DIALOG, "Add a tunnel");
  expect(await tab.page.evaluate("document.activeElement.tagName")).toBe("INPUT");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Name", "blocked");
  await tab.type("Server, city or country", "box-vpn-2");
  await tab.click("Add and connect");
  await tab.shows(`${DIALOG} .outcome`, "Blocked is reserved; choose another name.");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Name", "tv");
  await tab.type("Server, city or country", "Atlantis");
  await tab.click("Add and connect");
  await tab.shows(`${DIALOG} .outcome.failed`, "There is no server, country or city of this name");
  await tab.type("Server, city or country", "box-vpn-2");
  await tab.click("Add and connect");
  await tab.shows(TV, "tv Connected to Amsterdam, Netherlands");
  await tab.shows("body", "The tunnel tv is connected.");
  expect(await tab.text(DIALOG)).toBeNull();
  await other.shows(TV, "tv Connected to Amsterdam, Netherlands");
});

further.test(
  "keys that are safe from quantum computers are asked for in the form, and shown by a lock with words",
  async () => {
    const { namespaces, serverInterfaces } = rig.lab.sandbox;
    const at = { namespace: namespaces.vpn1, wireguard: serverInterfaces.vpn1 };
    const service = await EphemeralService.start(TUNNEL.server4, 1337, at);
    await tab.click("Connect main");
    await tab.choose("Quantum-resistant keys", "Always: otherwise no data gets through");
    await tab.type("Server, city or country", "box-vpn-2");
    await tab.click("Connect");
    await tab.shows(`${DIALOG} .outcome.failed`, "agrees on no keys that are safe from quantum computers");
    await tab.type("Server, city or country", "box-vpn-1");
    await tab.click("Connect");
    await tab.shows(`${MAIN} .icon-lock + span`, "Its keys are quantum-resistant.");
    await other.shows(MAIN, "Its keys are quantum-resistant.");
    expect(await tab.barriers()).toEqual([]);
    await other.page.goto(`${rig.url}#/`);
    await other.shows("body", "Its keys are quantum-resistant.");
    await service.behave("unload");
    await service.stop();
    await change("PUT", "/api/tunnels/main", { provider: "managed", server: "box-vpn-1", quantum: "on" });
    await tab.shows(MAIN, "Its keys are not quantum-resistant: the server did not agree on any that are.");
    expect(await tab.barriers()).toEqual([]);
    // What is kept for the tunnel stands in the form.
    await tab.click("Change server: main");
    await tab.shows(`${DIALOG} option:checked[value="on"]`, "If the server supports it");
  },
);

further.test(
  "targets are put in order by form, and after a disconnect the page offers the same again",
  async () => {
    const order = {
      targets: ["box-vpn-2", "box-vpn-1"].map((server) => ({ provider: "managed", server })),
      ...{ at: 0, back_after_minutes: 5, back_when_quiet: true, move_when: ["slow"] },
    };
    const changes = `${DIALOG} .changes`;
    await change("PUT", "/api/tunnels/main", { provider: "managed", server: "box-vpn-1" });
    await tab.shows(MAIN, "Connected to Gothenburg, Sweden");
    await tab.click("Targets of main");
    await tab.shows(DIALOG, "Targets of the main tunnel");
    await tab.shows(
      changes,
      "used: box-vpn-1 and target 2. Each one that does not work takes 10 to 30 seconds.",
    );
    await tab.click("Add a target");
    await tab.focuses("Target 3");
    await tab.click("Remove target 3");
    await tab.type("Target 2", "box-vpn-2");
    await tab.focus("Move box-vpn-2 up");
    await tab.press("Enter");
    await tab.focuses("Move box-vpn-2 up");
    await tab.shows(changes, "used: box-vpn-2 and box-vpn-1.");
    await tab.shows(changes, "They replace its present target: box-vpn-1.");
    await tab.page.click(`${DIALOG} input[type=checkbox]`);
    await tab.type("Try a better target again after, in minutes", "5");
    await tab.choose("Try it", "Only when there is little traffic");
    await tab.page.click(`${DIALOG} summary`);
    expect(await tab.barriers()).toEqual([]);
    expect(await tab.misfits([320, 360])).toEqual([]);
    await tab.page.evaluate(`document.documentElement.style.fontSize = ""`);
    await tab.click("Connect");
    await tab.shows(MAIN, "Connected to Amsterdam, Netherlands");
    await tab.shows(MAIN, "Targets, the best first box-vpn-2 (in use) · box-vpn-1");
    expect((await rows())[0].order).toEqual(order);

    await tab.click("Targets of main");
    await tab.type("Target 2", "Atlantis");
    await tab.click("Connect");
    const atField = `${DIALOG} .ordered-row:nth-child(2) .field:has([name^=server]) .failed`;
    await tab.shows(atField, "There is no server, country or city");
    await tab.focuses("Target 2");
    expect(await tab.barriers()).toEqual([]);
    await tab.press("Escape");
    await change("POST", "/api/tunnels/main/disconnect");
    await tab.shows(MAIN, "Its last targets, the best first: box-vpn-2 · box-vpn-1.");
    expect(await tab.barriers()).toEqual([]);
    await tab.click("Connect main to the same targets");
    await tab.shows(MAIN, "Connected to Amsterdam, Netherlands");
    expect((await rows())[0].order).toEqual(order);

    await change("POST", "/api/tunnels/main/disconnect");
    await other.page.goto(`${rig.url}#/`);
    await other.click("Connect to box-vpn-2 · box-vpn-1");
    await tab.shows(MAIN, "Connected to Amsterdam, Netherlands");
    expect((await rows())[0].order).toEqual(order);
    await change("PUT", "/api/tunnels/main", { provider: "managed", server: "box-vpn-1" });
    await tab.shows(MAIN, "Connected to Gothenburg, Sweden");
    await change("POST", "/api/tunnels/main/disconnect");
    await tab.shows(MAIN, /^main Disconnected((?!last targets).)*$/);
    await tab.shows(MAIN, "It led to box-vpn-1 before.");
    expect(await tab.barriers()).toEqual([]);
    await tab.click("Connect main to the same target");
    await tab.shows(MAIN, "Connected to Gothenburg, Sweden");
  },
);

further.test(
  "a browser that never saw the targets offers them, also after the gateway was killed, until one of them is removed",
  async () => {
    const { customBody } = rig.lab.sandbox.servers[1];
    await change("POST", "/api/custom/add", { ...customBody, name: "own" });
    const targets = [
      { provider: "managed", server: "box-vpn-2" },
      { provider: "custom", server: "own" },
      { provider: "managed", server: "Gothenburg" },
    ];
    const asked = { targets, back_after_minutes: 5, move_when: ["lossy"] };
    await rig.browser.closeTabs();
    await addTv();
    await change("PUT", "/api/tunnels/tv", asked);
    const { order } = (await rows())[1];
    await change("POST", "/api/tunnels/tv/disconnect");
    await rig.gateway.kill("SIGKILL");
    await rig.gateway.start();
    tab = await rig.browser.open(`${rig.url}#/tunnels`);
    await tab.shows(TV, "Its last targets, the best first: box-vpn-2 · own · Gothenburg.");
    await tab.click("Targets of tv");
    await tab.shows(`${DIALOG} .changes`, "used: box-vpn-2, own and Gothenburg.");
    await tab.press("Escape");
    await tab.click("Connect tv to the same targets");
    await tab.shows(TV, "Connected to Amsterdam, Netherlands");
    expect((await rows())[1].order).toEqual(order);
    await change("POST", "/api/tunnels/tv/disconnect");
    await tab.shows(TV, "Its last targets, the best first: box-vpn-2 · own · Gothenburg.");
    await change("DELETE", "/api/custom/remove/own");
    await tab.shows(TV, "Its last targets, the best first: box-vpn-2 · Gothenburg.");
  },
);

further.test("who has several exits is told to move, not to lose the internet", async () => {
  await addTv();
  await change("POST", "/api/connect", { server: "box-vpn-1" });
  await change("PUT", TV_DEVICE, { exit: ["tv", "main"] });
  const moves = "TV moves to the next exit in its order that is up; connections are reset.";
  await tab.shows(TV, "Exit of 1 device: TV.");
  const isAsked = async () => {
    await tab.click("Disconnect tv");
    await tab.shows(DIALOG, "Disconnect tv?");
    const text = await tab.text(DIALOG);
    await tab.press("Escape");
    await tab.loses(DIALOG);
    return text?.includes(`Disconnect tv? ${moves}`) === true;
  };
  // The list of devices is read again a second after it was.
  await until(isAsked);
  await change("POST", "/api/tunnels/tv/disconnect");
  await tab.shows(TV, "tv Disconnected");
  await tab.click("Remove tv");
  await tab.shows(DIALOG, "It is the exit of TV.");
});

further.test("a tunnel names its devices as soon as another program gives it one", async () => {
  await change("PUT", "/api/tunnels/tv", { provider: "managed", server: "box-vpn-2" });
  await tab.shows(TV, "No device has this exit.");
  await change("PUT", TV_DEVICE, { exit: "tv" });
  await tab.shows(TV, "Exit of 1 device: TV.");
  await tab.shows(MAIN, "New devices get it too: it is the default exit.");
});

test("remove asks, says that the tunnel is the exit of a device, and shows the refusal where it was clicked", async () => {
  await addTv();
  await tab.shows(TV, "Exit of 1 device: TV.");
  await tab.click("Remove tv");
  await tab.shows(
    DIALOG,
    "Remove the tunnel tv? It is the exit of TV. The gateway keeps it until you have chosen another exit for them.",
  );
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Cancel");
  expect(await rows()).toHaveLength(2);
  await tab.click("Remove tv");
  await tab.click("Remove");
  await tab.shows(
    `${TV} .outcome.failed`,
    "Name: tv is the exit of TV (02:00:00:00:00:20); choose another exit for them first.",
  );
  expect(await tab.barriers()).toEqual([]);
});

test("disconnect asks who will lose the internet, and both browsers see what has happened", async () => {
  await addTv();
  await tab.shows(TV, "Exit of 1 device: TV.");
  await tab.click("Disconnect tv");
  await tab.shows(
    DIALOG,
    "Disconnect tv? TV will have no internet until the tunnel is connected again. No other tunnel takes its place.",
  );
  await tab.click("Disconnect");
  await tab.shows(TV, "tv Disconnected: no server is chosen.");
  await other.shows(TV, "tv Disconnected: no server is chosen.");
});

further.test(
  "a server that does not answer leaves the reason with the form, and the tunnel as it was",
  async () => {
    await addTv();
    await change("POST", "/api/tunnels/tv/disconnect");
    await whileSilent(async () => {
      await tab.click("Connect tv");
      await tab.type("Server, city or country", "box-vpn-2");
      await tab.click("Connect");
      await tab.shows(`${DIALOG} button[type=submit]`, "Connecting to box-vpn-2…");
      await other.shows(TV, "Connecting to box-vpn-2…");
      await tab.shows(`${DIALOG} .outcome.failed`, "did not answer the WireGuard handshake");
      await tab.press("Escape");
      await tab.shows(TV, "tv Blocked: the tunnel to box-vpn-2 could not be set up.");
      expect(await tab.barriers()).toEqual([]);
    });
  },
);

further.test("a connect that another browser stops is no surprise to anyone", async () => {
  await addTv();
  await change("POST", "/api/tunnels/tv/disconnect");
  await whileSilent(async () => {
    const failed = rig.gateway.api("PUT", "/api/tunnels/tv", { server: "box-vpn-2" });
    await tab.shows(TV, "Connecting to box-vpn-2…");
    expect(await tab.barriers([{ width: 360, scheme: "dark" }])).toEqual([]);
    expect((await failed).status).toBe(500);
    await tab.click("Try again: tv");
    await tab.shows(TV, "Connecting to box-vpn-2…");
    await other.click("Stop connecting tv");
    await other.shows(TV, "tv Disconnected: no server is chosen.");
    await tab.shows(TV, "tv Disconnected: no server is chosen.");
    await tab.shows(`${TV} .outcome.failed`, "Interrupted");
  });
});

further.test("a tunnel without devices is removed, from both pages", async () => {
  await change("PUT", "/api/tunnels/tv", { provider: "managed", server: "box-vpn-2" });
  await change("POST", "/api/tunnels/tv/disconnect");
  await tab.shows(TV, "tv Disconnected");
  await other.shows(TV, "tv Disconnected");
  await tab.shows(TV, "No device has this exit.");
  await tab.click("Remove tv");
  await tab.shows(DIALOG, "No device uses it, so no device loses the internet.");
  await tab.click("Remove");
  await tab.shows("main", /^((?!tv Disconnected).)*$/);
  await other.shows("main", /^((?!tv Disconnected).)*$/);
  expect(await rows()).toHaveLength(1);
});

further.test(
  "a speed test is asked for with an address, and what is wrong is said where it was asked for",
  async () => {
    const card = ".tunnels > section.words";
    await tab.shows(card, "Its server sees a visitor who comes from the tunnel.");
    expect(await tab.barriers()).toEqual([]);
    await tab.click("Measure a tunnel…");
    await tab.type("Address of a large file", "https://192.0.2.80/100MB.bin");
    await tab.click("Measure");
    await tab.shows(card, "Main is not connected; connect it first");
  },
);
