import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import type { LanNetwork } from "../../src/devices/network-schema.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("a home with a second card");

setDefaultTimeout(TIMEOUT_MS);

const CARD = ["link add guest0 type veth peer name peer0", "address add 192.168.20.1/24 dev guest0"];

let rig: Rig;
let tab: Tab;

beforeAll(async () => {
  rig = await startRig();
  const lines = [...CARD, "link set guest0 up", "link set peer0 up"].map((line) => `${line}\n`).join("");
  await rig.lab.outside(["ip", "-n", rig.lab.namespaces.gateway, "-batch", "-"], lines);
  rig.options.flags = ["--host", "::", "--lan", "lan0,guest0"];
  await rig.gateway.restart();
  await rig.gateway.api("PUT", "/api/networks/guest0", { name: "Guests" });
  tab = await rig.browser.open(`${rig.url}#/devices`);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const guests = async (): Promise<LanNetwork | undefined> => {
  const { networks } = (await rig.gateway.api("GET", "/api/networks")).body;
  return networks.find((each: LanNetwork) => each.interface === "guest0");
};

test("with two networks each has a line, and what is chosen there is saved", async () => {
  await tab.shows("main", /Networks of the LAN Guests \(guest0\) 0/);
  await tab.choose("Exit of Guests (guest0)", "blocked · no internet");
  await until(async () => (await guests())?.exit === "blocked");
  await tab.choose("The page for Guests (guest0)", "Only DNS and DHCP of the gateway");
  await until(async () => (await guests())?.page === false);
  await tab.choose("Other networks for Guests (guest0)", "Reaches others that do, too");
  await until(async () => (await guests())?.others === true);
  await tab.choose("Exit of Guests (guest0)", "default: main · disconnected");
  await until(async () => (await guests())?.assigned === false);
  const limit = { down: 20, up: 5 };
  await rig.gateway.api("PUT", "/api/networks/guest0", { rate: limit });
  await tab.shows("main", /All of it together: 20 Mbit\/s down, 5 Mbit\/s up/);
  await tab.click("Change the quota… Guests (guest0)");
  await tab.type("Quota of Guests (guest0), in MB", "500");
  await tab.click("Save the quota");
  await until(async () => (await guests())?.quota?.megabytes === 500);
  expect((await guests())?.rate).toEqual(limit);
  expect(await tab.barriers()).toEqual([]);
});
