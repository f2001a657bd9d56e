import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET, LAN, ROUTER } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

setDefaultTimeout(120_000);

const SITES = [`http://${INTERNET.host4}/`, `http://[${INTERNET.host6}]/`];
/** Halves of the LAN's prefixes, which are preferred to the LAN's own routes. */
const AWAY = [
  ...["192.168.77.0/25", "192.168.77.128/25"].map((half) => ["-4", half, ROUTER.lan[2].v4] as const),
  ...["fd77::/65", "fd77:0:0:0:8000::/65"].map((half) => ["-6", half, ROUTER.lan[2].v6] as const),
];

let lab: Lab;
let service: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  service = await lab.startGateway();
  expect((await service.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
});
afterAll(() => lab.close());

/** As a DHCP client sets the routes that it is told (option 121), and the kernel those of router advertisements. */
async function leadAway(verb: "add" | "del"): Promise<void> {
  for (const [family, half, via] of AWAY) {
    const route = [
      "route",
      verb,
      half,
      "via",
      via,
      "dev",
      lab.sandbox.uplink,
      "proto",
      family === "-4" ? "dhcp" : "ra",
    ];
    expect((await lab.exec(lab.namespaces.gateway, ["ip", family, ...route])).stderr).toBe("");
  }
}

const served = async () =>
  Promise.all(SITES.map(async (site) => (await lab.fetchFrom(lab.namespaces.client, site)) !== null));

const alerts = async (): Promise<string[]> => {
  const { body } = await service.api("GET", "/api/events");
  return JSON.stringify(body).match(/"lan_route(_gone)?"/g) ?? [];
};

/** What the home router sees in clear while the gateway sends to a device. */
async function leaksToDevice(): Promise<readonly string[]> {
  const sniffer = await lab.sniff();
  for (const to of [LAN.client4, LAN.client6])
    await lab.exec(lab.namespaces.gateway, ["ping", "-c", "3", "-i", "0.2", "-W", "1", to]);
  await sniffer.stop();
  return sniffer.leaks;
}

test("a route for parts of the LAN by the uplink neither cuts devices off nor leads anything there, and is told", async () => {
  expect(await served()).toEqual([true, true]);
  await leadAway("add");
  await until(async () => (await alerts()).length === 1, 10_000);
  expect(await served()).toEqual([true, true]);
  const { stdout } = await service.operate("check");
  expect(stdout).toContain(
    "another interface has a route to a part of it, which is not used: 192.168.77.0/25",
  );
  // The LAN's interface goes and comes, and with it the routes by it.
  const { gateway } = lab.namespaces;
  await lab.exec(gateway, ["ip", "link", "set", "lan0", "down"]);
  await lab.exec(gateway, ["ip", "link", "set", "lan0", "up"]);
  await lab.exec(gateway, ["ip", "address", "add", `${LAN.gateway6}/64`, "dev", "lan0", "nodad"]);
  await until(async () => (await served()).every((one) => one), 20_000);
});

test("a LAN without IPv6 is served again at once after its interface has gone and come, and after its address has", async () => {
  const { gateway } = lab.namespaces;
  const batch = async (...lines: string[]) =>
    expect((await lab.exec(gateway, ["ip", "-batch", "-"], `${lines.join("\n")}\n`)).stderr).toBe("");
  const isServed = async () => (await lab.fetchFrom(lab.namespaces.client, SITES[0] ?? "")) !== null;
  const wayToLan = async () =>
    (await lab.exec(gateway, ["ip", "-4", "route", "show", "table", "20565"])).stdout;
  await batch(`address del ${LAN.gateway6}/64 dev lan0`);
  await until(isServed, 10_000);
  const before = await wayToLan();
  expect(before).toContain("dev lan0");
  const bounces = [
    ["link set lan0 down", "link set lan0 up"],
    [`address del ${LAN.gateway4}/24 dev lan0`, `address add ${LAN.gateway4}/24 dev lan0`],
  ];
  for (const bounce of bounces) {
    // All of it within the time that the service waits for more.
    await batch(...bounce);
    await until(async () => (await wayToLan()) === before, 20_000);
    await until(isServed, 10_000);
  }
  await batch(`address add ${LAN.gateway6}/64 dev lan0 nodad`);
  await until(async () => (await served()).every((one) => one), 20_000);
});

test("routing alone leads what is for the LAN to the LAN", async () => {
  const { gateway } = lab.namespaces;
  await service.kill("SIGKILL");
  await lab.exec(gateway, ["nft", "flush", "ruleset"]);
  expect(await leaksToDevice()).toEqual([]);
  // Positive control: by the machine's own routes the same packets leave.
  for (const family of ["-4", "-6"]) await lab.exec(gateway, ["ip", family, "rule", "del", "priority", "45"]);
  expect((await leaksToDevice()).length).toBeGreaterThan(0);
});
