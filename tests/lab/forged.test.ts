import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN, TUNNEL, UPLINK } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { FORGED, FORGERIES, Forger, RACED } from "../rig/peers/forged-answers.ts";
import { inject } from "../rig/tools/injector.ts";
import { place } from "../rig/tools/intruder.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { datagramFrame } from "../rig/tools/packet.ts";
import { askGateway } from "../rig/tools/question.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(240_000);

const RULED = "ruled.internet.test";
const FREE = "free.internet.test";
const GUESSES = 200;
const MOST_RACES = 5;

let lab: Lab;
let gateway: Gateway;
let forger: Forger;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  forger = await Forger.start(lab);
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("POST", "/api/destinations", { names: [RULED], exit: "main" });
  await gateway.keep();
});
beforeEach(() => gateway.reset());
afterAll(async () => {
  await forger?.stop();
  await lab?.close();
});

const resolve = (name: string) => askGateway(lab.namespaces.client, name);

/** The addresses that the names of the rule have. */
async function led(): Promise<string[]> {
  const { devices } = await gateway.ask("GET", "/api/devices");
  const client = devices.find(({ addresses }: { addresses: string[] }) => addresses.includes(LAN.client4));
  const { addresses } = await gateway.ask(
    "GET",
    `/api/destinations/explain?device=${client.id}&name=${RULED}`,
  );
  return addresses;
}

async function isInTable(address: string): Promise<boolean> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis"]);
  return stdout.includes(address);
}

/** Asks while a neighbour forges the answer; whether all of that came in before the true answer, which is believed. */
async function race(side: "lan" | "uplink", name: string): Promise<boolean> {
  const { gateway: card, own, namespace } = await place(lab, side);
  const { lan, uplink } = lab.sandbox;
  const tap = await Wiretap.start(
    lab.namespaces.gateway,
    side === "lan" ? lan : uplink,
    `src host ${TUNNEL.server4} and src port 53`,
  );
  let isAnswered = false;
  const answer = resolve(name).finally(() => {
    isAnswered = true;
  });
  const { address, port, forged } = await forger.overheard();
  const way = { fromMac: own, toMac: card, from: TUNNEL.server4, sourcePort: 53 };
  const frame = (to: string, targetPort: number) =>
    datagramFrame({ ...way, to, targetPort, payload: Uint8Array.fromHex(forged) });
  // Where the gateway waits for it, at its own address on the cable, and at ports that are only guessed.
  const here = side === "lan" ? LAN.gateway4 : UPLINK.gateway4;
  const guessed = Array.from({ length: GUESSES }, (_, number) => frame(address, 32_768 + number));
  await inject(namespace, "lan0", [frame(address, port), frame(here, port), ...guessed]);
  const isInTime = !isAnswered;
  expect([name, ...(await answer)]).toEqual([name, INTERNET.host4]);
  expect((await tap.stop()).length).toBeGreaterThan(GUESSES);
  return isInTime;
}

test("an answer from another address or port is as good as none", async () => {
  for (const forgery of FORGERIES)
    for (const below of [RULED, FREE])
      expect([forgery, ...(await resolve(`${forgery}.${below}`))]).toEqual([forgery, INTERNET.host4]);
  expect(await led()).toEqual([INTERNET.host4]);
  expect(await isInTable(FORGED)).toBe(false);
});

test("a neighbour who knows everything of a question forges its answer on the cables, and is not believed", async () => {
  for (const side of ["lan", "uplink"] as const) {
    let [races, isInTime] = [0, false];
    // On a busy machine the neighbour may come too late.
    while (!isInTime && races < MOST_RACES)
      isInTime = await race(side, `${RACED}.${side}${races++}.${RULED}`);
    expect([side, isInTime]).toEqual([side, true]);
  }
  expect(await isInTable(FORGED)).toBe(false);
});

test("positive control: a forged answer in which everything is right is believed, and comes before the true one", async () => {
  expect(await resolve(`nothing.${RULED}`)).toEqual([FORGED]);
  expect(await resolve(`nothing.${FREE}`)).toEqual([FORGED]);
  expect(await led()).toEqual([FORGED]);
  expect(await isInTable(FORGED)).toBe(true);
});
