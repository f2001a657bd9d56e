import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { askGateway } from "../../lab/ask.ts";
import { FORGED, FORGERIES, Forger, HOME_ADDRESSES } from "../../lab/forger.ts";
import { createLab, type Gateway, type Lab } from "../../lab/lab.ts";
import { INTERNET, LAN } from "../../src/sandbox/topology.ts";

const TEST_MS = 240_000;
const RULED = "ruled.internet.test";
const FREE = "free.internet.test";

let lab: Lab;
let gateway: Gateway;
let forger: Forger;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  forger = await Forger.start(lab);
  gateway = await lab.startGateway();
  await ask("POST", "/api/connect", { server: "box-vpn-1" });
  await ask("POST", "/api/destinations", { names: [RULED], exit: "main" });
  await gateway.keep();
}, TEST_MS);
beforeEach(() => gateway.reset(), TEST_MS);
afterAll(async () => {
  await forger?.stop();
  await lab?.close();
}, TEST_MS);

async function ask(method: string, path: string, body?: unknown) {
  const answer = await gateway.api(method, path, body);
  expect({ path, status: answer.status }).toEqual({ path, status: 200 });
  return answer.body;
}

const resolve = (name: string) => askGateway(lab.namespaces.client, name);

/** The addresses that the names of the rule have. */
async function led(): Promise<string[]> {
  const { devices } = await ask("GET", "/api/devices");
  const client = devices.find(({ addresses }: { addresses: string[] }) => addresses.includes(LAN.client4));
  const { addresses } = await ask("GET", `/api/destinations/explain?device=${client.id}&name=${RULED}`);
  return addresses;
}

async function isInTable(address: string): Promise<boolean> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis"]);
  return stdout.includes(address);
}

test(
  "an answer with another id, question or case, or from another address or port, is as good as none",
  async () => {
    for (const forgery of FORGERIES)
      for (const below of [RULED, FREE])
        expect([forgery, ...(await resolve(`${forgery}.${below}`))]).toEqual([forgery, INTERNET.host4]);
    expect(await led()).toEqual([INTERNET.host4]);
    expect(await isInTable(FORGED)).toBe(false);
  },
  TEST_MS,
);

test(
  "a name of the internet has no address of the home, with a rule and without",
  async () => {
    for (const label of Object.keys(HOME_ADDRESSES))
      for (const below of [RULED, FREE])
        expect([label, ...(await resolve(`${label}.${below}`))]).toEqual([label, "NOERROR"]);
    expect(await led()).toEqual([]);
  },
  TEST_MS,
);

test(
  "positive control: a forged answer in which everything is right is believed, and comes before the true one",
  async () => {
    expect(await resolve(`nothing.${RULED}`)).toEqual([FORGED]);
    expect(await resolve(`nothing.${FREE}`)).toEqual([FORGED]);
    expect(await led()).toEqual([FORGED]);
    expect(await isInTable(FORGED)).toBe(true);
  },
  TEST_MS,
);
