import { afterAll, beforeAll, expect } from "bun:test";
import { join } from "node:path";
import { INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { long } from "../../fast.ts";
import { CABIN, openCabin } from "../../rig/home/cabin.ts";
import { Doorbell } from "../../rig/peers/visited-port.ts";
import { createLab, type Gateway, type Lab } from "../../rig/tools/lab.ts";
import { PROGRAM } from "../../rig/tools/program.ts";
import { Sniffer } from "../../rig/tools/sniffer.ts";
import { until } from "../../rig/tools/until.ts";

const { test } = long("two gateways, each with devices of its own");

const TIMEOUT_MS = 240_000;
const PORT = 51_820;
const BELL = 8_080;
/** At home, beside the laptop, which alone may be reached. */
const TV4 = "192.168.77.20";
const TV6 = "fd77::20";

let lab: Lab;
let home: Gateway;
let cabin: Gateway;
let device: string;
let public4: string;
let tv: string;
let bells: { laptop: Doorbell; tv: Doorbell; device: Doorbell };
let uplinks: Sniffer[];

beforeAll(async () => {
  lab = await createLab({ cards: 2, computers: 3 });
  const { sandbox, namespaces } = lab;
  home = await lab.startGateway();
  const second = await openCabin(lab, PORT);
  ({ gateway: cabin, device, public4 } = second);
  tv = `${sandbox.id}-tv`;
  bells = {
    laptop: await Doorbell.start(lab, namespaces.client, BELL),
    tv: await Doorbell.start(lab, tv, BELL),
    device: await Doorbell.start(lab, device, BELL),
  };
  const endpoints = [{ address: ROUTER.public4, port: PORT }];
  uplinks = [
    await Sniffer.start(second.router, "phone4", { endpoints, direction: "in" }),
    await Sniffer.start(namespaces.router, "lan0", {
      endpoints: [{ address: UPLINK.gateway4, port: PORT }],
      direction: "in",
    }),
  ];
}, TIMEOUT_MS);

afterAll(async () => {
  for (const bell of Object.values(bells ?? {})) bell.stop();
  await lab?.close();
}, TIMEOUT_MS);

/** The command line at one of the homes, as a person types it. */
async function type(gateway: Gateway, ...words: string[]): Promise<string> {
  const url = ["--url", `http://127.0.0.1:${gateway.port}`];
  const { code, stdout, stderr } = await lab.outside([...PROGRAM, ...words, ...url]);
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
  return stdout;
}

const codeIn = (text: string) => text.split("\n")[0] ?? "";
const pageOf = (address: string) => `http://${address}:${BELL}/`;
const reaches = (from: string, address: string) => lab.fetchFrom(from, pageOf(inUrl(address)));
const inUrl = (address: string) => (address.includes(":") ? `[${address}]` : address);

/** Its id at the gateway, once that has heard it. */
async function idOf(gateway: Gateway, namespace: string, address: string, own: string): Promise<string> {
  await lab.exec(namespace, ["ping", "-c", "1", "-W", "10", own]);
  let id = "";
  await until(async () => {
    const { body } = await gateway.api("GET", "/api/devices");
    const found = body.devices.find((each: { addresses: string[] }) => each.addresses.includes(address));
    id = found?.id ?? "";
    return id !== "";
  });
  return id;
}

/** Whether a datagram to the address arrives at the bell, asked until a datagram to the other bell has. */
async function arrives(address: string, bell: Doorbell): Promise<boolean> {
  bell.rings();
  await lab.exec(device, ["bash", "-c", `for i in 1 2 3; do echo hello >/dev/udp/${address}/${BELL}; done`]);
  await lab.exec(device, ["ping", "-c", "2", "-W", "1", address]);
  return bell.rings().some((ring) => ring.startsWith("udp"));
}

/** The TV sends to the internet, which no exit takes while the service is killed and its rules are gone. */
const tvSends = () =>
  lab.exec(tv, ["bash", "-c", `for i in 1 2 3; do echo hello >/dev/udp/${INTERNET.host4}/${BELL}; done`]);

/** What has left one of the homes with an address of one of the LANs. */
async function inClear(): Promise<string[]> {
  const counted = await Promise.all(uplinks.map((uplink) => uplink.count()));
  const own = [CABIN.device4, LAN.client4, TV4];
  return counted.flatMap(({ leaks }) => leaks.filter((leak) => own.some((each) => leak.includes(each))));
}

test(
  "two linked homes reach the devices that each has allowed, and nothing else, by each layer alone",
  async () => {
    const on = ["remote", "on", "--endpoint", ROUTER.public4];
    expect(await home.operate(...on)).toMatchObject({ code: 0, stderr: "" });
    const cabins = ["--state-dir", join(lab.sandbox.directory, "cabin")];
    expect(await lab.outside([...PROGRAM, "remote", "on", "--endpoint", public4, ...cabins])).toMatchObject({
      code: 0,
      stderr: "",
    });
    const offer = codeIn(await type(home, "link", "add", "cabin"));
    const answer = codeIn(await type(cabin, "link", "take", offer, "home"));
    expect(await type(home, "link", "take", answer)).toStartWith("This home and cabin are linked.");
    const laptopId = await idOf(home, lab.namespaces.client, LAN.client4, LAN.gateway4);
    const tvId = await idOf(home, tv, TV4, LAN.gateway4);
    const deviceId = await idOf(cabin, device, CABIN.device4, CABIN.gateway4);
    await until(async () => (await home.ask("GET", "/api/links")).links[0].state === "up");
    // Nothing is allowed yet.
    expect([await reaches(device, LAN.client4), await reaches(device, TV4)]).toEqual([null, null]);
    await type(home, "link", "allow", "cabin", laptopId);
    expect([await reaches(device, LAN.client4), await reaches(device, TV4)]).toEqual([
      lab.namespaces.client,
      null,
    ]);
    // By IPv6, too, once home has seen the laptop's address.
    await lab.exec(lab.namespaces.client, ["ping", "-c", "1", "-W", "10", LAN.gateway6]);
    await until(async () => (await reaches(device, LAN.client6)) === lab.namespaces.client);
    expect([await reaches(device, TV6), await reaches(device, LAN.gateway6)]).toEqual([null, null]);
    expect(await reaches(lab.namespaces.client, CABIN.device4)).toBeNull();
    expect(await reaches(device, LAN.gateway4)).toBeNull();
    await type(cabin, "link", "allow", "home", deviceId);
    expect([await reaches(tv, CABIN.device4), await reaches(device, TV4)]).toEqual([device, null]);
    await type(cabin, "link", "deny", "home", deviceId);
    expect([await reaches(tv, CABIN.device4), await reaches(device, LAN.client4)]).toEqual([
      null,
      lab.namespaces.client,
    ]);

    // The cabin's device leaves from home, if home lets it: with the exit that home's gateway gives to the cabin.
    const seenAs = () => lab.fetchFrom(device, `http://${INTERNET.host4}/ip`);
    await home.ask("POST", "/api/connect", { server: "box-vpn-1" });
    await type(home, "link", "exit", "cabin", "on");
    await cabin.ask("PUT", "/api/tunnels/home", { provider: "custom", server: "home" });
    expect(await seenAs()).toBeNull();
    await cabin.ask("PUT", `/api/devices/${encodeURIComponent(deviceId)}`, { exit: "home" });
    expect([await seenAs(), await reaches(device, TV4)]).toEqual([VPN.vpn1.v4, null]);
    // At the same time the TV at home leaves from the cabin.
    const tvSeenAs = () => lab.fetchFrom(tv, `http://${INTERNET.host4}/ip`);
    await cabin.ask("POST", "/api/connect", { server: "box-vpn-2" });
    await type(cabin, "link", "exit", "home", "on");
    await home.ask("PUT", "/api/tunnels/cabin", { provider: "custom", server: "cabin" });
    await home.ask("PUT", `/api/devices/${encodeURIComponent(tvId)}`, { exit: "cabin" });
    await until(async () => (await tvSeenAs()) === VPN.vpn2.v4);
    expect([await seenAs(), await reaches(tv, CABIN.device4)]).toEqual([VPN.vpn1.v4, null]);
    await home.ask("POST", "/api/disconnect");
    expect([await seenAs(), await tvSeenAs()]).toEqual([null, VPN.vpn2.v4]);
    await home.ask("POST", "/api/connect", { server: "box-vpn-1" });
    await type(home, "link", "exit", "cabin", "off");
    expect([await seenAs(), await tvSeenAs()]).toEqual([null, VPN.vpn2.v4]);
    expect(await reaches(device, LAN.client4)).toBe(lab.namespaces.client);
    expect(await inClear()).toEqual([]);

    await home.kill("SIGKILL");
    const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
    const rules = async () => {
      for (const priority of Array.from({ length: 90 }, (_, at) => at + 10))
        while ((await inside("ip", "rule", "del", "priority", `${priority}`)).code === 0);
    };
    // The routing rules alone, without the firewall.
    await inside("nft", "delete", "table", "inet", "portcullis");
    expect([await arrives(LAN.client4, bells.laptop), await arrives(TV4, bells.tv)]).toEqual([false, false]);
    await tvSends();
    expect(await inClear()).toEqual([]);
    // Positive control: with neither layer, the TV gets what the cabin sends, and its answers leave in clear.
    await rules();
    await tvSends();
    expect(await arrives(TV4, bells.tv)).toBe(true);
    const exposed = await inClear();
    for (const to of [CABIN.device4, INTERNET.host4])
      expect(exposed.filter((leak) => leak.includes(TV4) && leak.includes(to))).not.toEqual([]);
    // The firewall alone.
    await home.start();
    await until(async () => (await reaches(device, LAN.client4)) !== null);
    await home.kill("SIGKILL");
    await rules();
    await tvSends();
    expect([await arrives(LAN.client4, bells.laptop), await arrives(TV4, bells.tv)]).toEqual([true, false]);
    await home.start();
    await until(async () => (await reaches(device, LAN.client4)) !== null);

    // Without the link, nothing for the other home leaves in clear.
    await type(home, "link", "remove", "cabin");
    expect([await reaches(device, LAN.client4), await reaches(device, TV4)]).toEqual([null, null]);
    await lab.exec(`${lab.sandbox.id}-phone4`, ["ip", "link", "del", `${lab.sandbox.id}cr`]);
    expect(await reaches(device, LAN.client4)).toBeNull();
    expect(await inClear()).toEqual(exposed);
    // Positive control: without the kill switch the same packets are seen.
    await cabin.expose();
    await until(async () => {
      await reaches(device, LAN.client4);
      return uplinks[0]?.peek().leaks.some((leak) => leak.includes(LAN.client4)) === true;
    });
    for (const uplink of uplinks) await uplink.stop();
  },
  TIMEOUT_MS,
);
