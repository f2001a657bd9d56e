import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { blocksIn, sessionIn } from "../../binary/page.ts";
import { long } from "../../fast.ts";
import { CABIN, openCabin } from "../../rig/home/cabin.ts";
import { Doorbell } from "../../rig/peers/visited-port.ts";
import { createLab, type Gateway, type Lab, type Ran } from "../../rig/tools/lab.ts";
import { PROGRAM } from "../../rig/tools/program.ts";
import { Sniffer } from "../../rig/tools/sniffer.ts";
import { until } from "../../rig/tools/until.ts";

const { test } = long("two gateways, each with devices of its own");

setDefaultTimeout(240_000);

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
});

afterAll(async () => {
  for (const bell of Object.values(bells ?? {})) bell.stop();
  await lab?.close();
});

/** The command line at one of the homes, as a person types it. */
async function type(gateway: Gateway, ...words: string[]): Promise<string> {
  const url = ["--url", `http://127.0.0.1:${gateway.port}`];
  return typed(await lab.outside([...PROGRAM, ...words, ...url]), words);
}

function typed({ code, stdout, stderr }: Ran, words: readonly string[]): string {
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
  return stdout;
}

const PAGE = await Bun.file(join(import.meta.dir, "../../../docs/networks.md")).text();
const [, PARENTS = ""] = PAGE.split("\n## Parents\n");
/** The codes as the page abbreviates them, and as the gateways have made them. */
const codes = new Map<string, string>();

/** Types a command of the page, with the lab's addresses and codes. */
async function follow(gateway: Gateway, line: string, answer = ""): Promise<string> {
  const [first = "", ...rest] = line.split(" ").map((word) => codes.get(word) ?? word);
  const words = (first === "sudo" ? rest.slice(1) : rest).map((word) =>
    word === "home.example.org" ? ROUTER.public4 : word,
  );
  const stdout = await (first === "sudo" ? operate(gateway, words) : type(gateway, ...words));
  if (answer.startsWith("home1_")) codes.set(answer.trim(), stdout.split("\n")[0] ?? "");
  return stdout;
}

async function operate(gateway: Gateway, words: readonly string[]): Promise<string> {
  if (gateway === home) return typed(await home.operate(...words), words);
  const state = ["--state-dir", join(lab.sandbox.directory, "cabin")];
  // "Their gateway needs an endpoint when you link", says the page.
  const endpoint = words[1] === "on" ? ["--endpoint", public4] : [];
  return typed(await lab.outside([...PROGRAM, ...words, ...endpoint, ...state]), words);
}

/** A command in a sentence of the page. */
function inText(begin: string): string {
  const [, command] = new RegExp(`\`(${begin}[^\`]*)\``).exec(PARENTS) ?? [];
  if (command === undefined) throw new Error(`the page has no ${begin}`);
  return command;
}
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

async function name(gateway: Gateway, id: string, given: string): Promise<void> {
  await gateway.ask("PUT", `/api/devices/${encodeURIComponent(id)}`, { name: given });
}

const CIRCLING = "what comes from a home never leaves by a home";

/** Counts what comes from the other home for the internet, ahead of the gateway's own rules and after them. */
async function countsFromCabin(): Promise<() => Promise<number[]>> {
  const link = `${lab.sandbox.interface}r`;
  const chains = [-400, 400].map((priority, at) => {
    const hook = `type filter hook forward priority ${priority}; policy accept;`;
    return `chain c${at} { ${hook} iifname "${link}" ip daddr ${INTERNET.host4} counter; }`;
  });
  const inside = (...words: string[]) => lab.exec(lab.namespaces.gateway, words);
  const text = `table inet seen {\n${chains.join("\n")}\n}\n`;
  expect(await lab.exec(lab.namespaces.gateway, ["nft", "-f", "-"], text)).toMatchObject({ stderr: "" });
  return async () => {
    const { stdout } = await inside("nft", "list", "table", "inet", "seen");
    return [...stdout.matchAll(/counter packets (\d+)/g)].map(([, packets]) => Number(packets));
  };
}

/** The cabin's device leaves by home, which leads it to the cabin again. */
async function keepsFromCircling(seenAs: () => Promise<string | null>): Promise<void> {
  const { devices } = await home.ask("GET", "/api/remote");
  const { id } = devices.find((each: { name: string }) => each.name === "parents");
  await home.ask("PUT", `/api/devices/${encodeURIComponent(id)}`, { exit: "parents" });
  const { stdout } = await home.operate("check");
  expect(stdout).toContain("parents");
  const count = await countsFromCabin();
  expect(await seenAs()).toBeNull();
  const [came = 0, left] = await count();
  expect(came).toBeGreaterThan(0);
  expect(left).toBe(0);
  // Positive control: without this rule it leaves by the cabin.
  await home.kill("SIGKILL");
  const inside = (...words: string[]) => lab.exec(lab.namespaces.gateway, words);
  const table = await inside("nft", "-a", "list", "table", "inet", "portcullis");
  let chain = "";
  let removed = 0;
  for (const line of table.stdout.split("\n")) {
    chain = /^\s*chain (\S+) \{/.exec(line)?.[1] ?? chain;
    const [, handle] = line.includes(CIRCLING) ? (/# handle (\d+)$/.exec(line) ?? []) : [];
    if (handle === undefined) continue;
    removed += 1;
    await inside("nft", "delete", "rule", "inet", "portcullis", chain, "handle", handle);
  }
  expect(removed).toBeGreaterThan(0);
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  expect((await count())[1]).toBeGreaterThan(0);
  await inside("nft", "delete", "table", "inet", "seen");
  await home.start();
  await until(async () => (await seenAs()) === null);
  await home.ask("PUT", `/api/devices/${encodeURIComponent(id)}`, { exit: null });
  await until(async () => (await seenAs()) === VPN.vpn1.v4);
}

/** What has left one of the homes with an address of one of the LANs. */
async function inClear(): Promise<string[]> {
  const counted = await Promise.all(uplinks.map((uplink) => uplink.count()));
  const own = [CABIN.device4, LAN.client4, TV4];
  return counted.flatMap(({ leaks }) => leaks.filter((leak) => own.some((each) => leak.includes(each))));
}

test("two linked homes reach the devices that each has allowed, and nothing else, by each layer alone", async () => {
  const laptopId = await idOf(home, lab.namespaces.client, LAN.client4, LAN.gateway4);
  const tvId = await idOf(home, tv, TV4, LAN.gateway4);
  const deviceId = await idOf(cabin, device, CABIN.device4, CABIN.gateway4);
  await name(home, laptopId, "printer");
  await name(home, tvId, "TV");
  await name(cabin, deviceId, "nas");
  const [begin, take, end] = blocksIn(PARENTS).map(({ text }) => sessionIn(text));
  for (const { command, answer } of begin ?? []) await follow(home, command, answer);
  for (const { command, answer } of take ?? []) await follow(cabin, command, answer);
  const [taken, allow] = end ?? [];
  expect(await follow(home, taken?.command ?? "")).toStartWith("This home and parents are linked.");
  await until(async () => (await home.ask("GET", "/api/links")).links[0].state === "up");
  // Nothing is allowed here yet, and at the other home the nas is.
  expect([await reaches(device, LAN.client4), await reaches(device, TV4)]).toEqual([null, null]);
  expect(await reaches(tv, CABIN.device4)).toBe(device);
  await type(cabin, "link", "deny", "kids", "nas");
  await follow(home, allow?.command ?? "");
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
  await type(cabin, "link", "allow", "kids", "nas");
  expect([await reaches(tv, CABIN.device4), await reaches(device, TV4)]).toEqual([device, null]);
  await type(cabin, "link", "deny", "kids", "nas");
  expect([await reaches(tv, CABIN.device4), await reaches(device, LAN.client4)]).toEqual([
    null,
    lab.namespaces.client,
  ]);

  // The cabin's device leaves from home, if home lets it: with the exit that home's gateway gives to the cabin.
  const seenAs = () => lab.fetchFrom(device, `http://${INTERNET.host4}/ip`);
  await home.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await type(home, "link", "exit", "parents", "on");
  await cabin.ask("PUT", "/api/tunnels/kids", { provider: "custom", server: "kids" });
  expect(await seenAs()).toBeNull();
  await cabin.ask("PUT", `/api/devices/${encodeURIComponent(deviceId)}`, { exit: "kids" });
  expect([await seenAs(), await reaches(device, TV4)]).toEqual([VPN.vpn1.v4, null]);
  // At the same time the TV at home leaves from the cabin.
  const tvSeenAs = () => lab.fetchFrom(tv, `http://${INTERNET.host4}/ip`);
  await cabin.ask("POST", "/api/connect", { server: "box-vpn-2" });
  await follow(cabin, inText("portcullis link exit"));
  await follow(home, inText("portcullis tunnel parents connect"));
  await follow(home, inText("portcullis device TV exit"));
  await until(async () => (await tvSeenAs()) === VPN.vpn2.v4);
  expect([await seenAs(), await reaches(tv, CABIN.device4)]).toEqual([VPN.vpn1.v4, null]);
  await keepsFromCircling(seenAs);
  await home.ask("POST", "/api/disconnect");
  expect([await seenAs(), await tvSeenAs()]).toEqual([null, VPN.vpn2.v4]);
  await home.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await type(home, "link", "exit", "parents", "off");
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
  await follow(home, `portcullis ${inText("link remove")}`);
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
});
