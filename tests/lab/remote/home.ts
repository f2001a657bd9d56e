import { afterAll, afterEach, beforeAll, beforeEach, expect } from "bun:test";
import { LAN, ROUTER, UPLINK } from "../../../src/sandbox/topology.ts";
import { Phone } from "../../rig/home/phone.ts";
import { TO_HOME_ROUTER } from "../../rig/peers/miniupnpd.ts";
import { Doorbell } from "../../rig/peers/visited-port.ts";
import { createLab, ENDPOINTS, type Gateway, type Lab } from "../../rig/tools/lab.ts";
import { PROGRAM } from "../../rig/tools/program.ts";
import { Sniffer } from "../../rig/tools/sniffer.ts";

export const TIMEOUT_MS = 240_000;
/** At home, on the laptop. */
export const BELL = 8_080;
export const PORT = 51_820;
/** A data message of WireGuard by its first bytes. */
export const SHADOW = "\u0004\0\0\0 shadow";

export let lab: Lab;
export let gateway: Gateway;
export let phones: Phone[];
export let sniffer: Sniffer;
let bell: Doorbell;
/** What else may leave by the uplink in a test. */
let allowed: (leak: string) => boolean;

/** What else may leave by the uplink in this test. */
export function allow(leaks: (leak: string) => boolean): void {
  allowed = leaks;
}

/** A home with a connected gateway, whose router forwards the port, and two phones outside; for the tests of a file. */
export function openHome(): void {
  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
    phones = await Promise.all([1, 2].map((number) => Phone.away(lab, number)));
    bell = await Doorbell.start(lab, lab.namespaces.client, BELL);
    // The home router's owner has entered the port.
    await forwardPort();
    gateway = await lab.startGateway();
    await ask("POST", "/api/connect", { server: "box-vpn-1" });
    await ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
    await gateway.keep();
  });

  beforeEach(async () => {
    for (const phone of phones) await phone.hangsUp();
    await gateway.reset();
    // The home router of this lab answers no request for a port.
    allowed = (leak) => TO_HOME_ROUTER.test(leak);
    sniffer = await Sniffer.start(lab.namespaces.router, "lan0", {
      endpoints: [...ENDPOINTS, { address: UPLINK.gateway4, port: PORT }],
      direction: "in",
    });
  });

  afterEach(async () => {
    const { leaks, missed } = await sniffer.stop();
    expect({ leaks: leaks.filter((leak) => !allowed(leak)), missed }).toEqual({ leaks: [], missed: 0 });
  });

  afterAll(async () => {
    bell?.stop();
    await lab?.close();
  });
}

async function forwardPort(): Promise<void> {
  const rule = `iifname "wan0" udp dport ${PORT} dnat ip to ${UPLINK.gateway4}`;
  const text = `table inet ports { chain in { type nat hook prerouting priority dstnat - 1\n${rule}\n}\n}\n`;
  expect(await lab.exec(lab.namespaces.router, ["nft", "-f", "-"], text)).toMatchObject({ code: 0 });
}

export async function ask(method: string, path: string, body?: unknown) {
  const answer = await gateway.api(method, path, body);
  expect({ path, status: answer.status, body: answer.body }).toMatchObject({ path, status: 200 });
  return answer.body;
}

export async function turnOn(...flags: string[]): Promise<void> {
  const ran = await gateway.operate("remote", "on", "--endpoint", ROUTER.public4, ...flags);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
}

/** The command line, as a person types it. */
export async function type(...words: string[]): Promise<string> {
  const url = `http://127.0.0.1:${gateway.port}`;
  const { code, stdout, stderr } = await lab.outside([...PROGRAM, ...words, "--url", url]);
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
  return stdout;
}

/** The phone is added, and takes the file. */
export async function invite(phone: Phone, name: string, ...flags: string[]): Promise<string> {
  const file = await type("remote", "add", name, "--file", ...flags);
  await phone.takes(file);
  return file;
}

export const device = async (name: string) => {
  const { devices } = await ask("GET", "/api/devices");
  return devices.find((each: { name: string }) => each.name === name);
};
export const idOf = async (name: string): Promise<string> => (await device(name)).id;
export const give = async (name: string, exit: string | null) =>
  ask("PUT", `/api/devices/${encodeURIComponent(await idOf(name))}`, { exit });
/** Which computer at home answers; null if none does. */
export const home = (phone: Phone, address: string = LAN.client4) =>
  lab.fetchFrom(phone.namespace, `http://${address.includes(":") ? `[${address}]` : address}:${BELL}/`);
export const rulesAbout = async (what: RegExp) => {
  const { gateway: own } = lab.namespaces;
  const shown = [];
  for (const argv of [
    ["nft", "list", "ruleset"],
    ["ip", "rule"],
    ["ip", "-6", "rule"],
    ["ip", "-br", "link"],
    ["ss", "-lunH"],
  ])
    shown.push((await lab.exec(own, argv)).stdout);
  return shown
    .join("\n")
    .split("\n")
    .filter((line) => what.test(line));
};
