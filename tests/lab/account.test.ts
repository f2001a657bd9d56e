import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { INTERNET, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { commandLine } from "../cli/program.ts";
import { long } from "../fast.ts";
import { NUMBER } from "../providers/mullvad/provider.ts";
import { ProviderSite } from "../rig/peers/provider.ts";
import { createLab, type Gateway, type Lab, type Ran } from "../rig/tools/lab.ts";

const { test } = long("the same gateway with another provider");

setDefaultTimeout(120_000);

const PAGE = `http://${INTERNET.host4}/`;

let lab: Lab;
let provider: ProviderSite;
let gateway: Gateway;
/** The keys that the device has had. */
const keys: string[] = [];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  provider = await ProviderSite.start(lab);
  const unset = ["--managed-key-file", "", "--managed-address", "", "--managed-dns", ""];
  gateway = await lab.startGateway({
    flags: ["--managed-api", provider.address, ...unset],
    environment: provider.environment,
  });
  await gateway.keep();
  await provider.stop();
});
/** A provider who knows no device, and a gateway without an account. */
beforeEach(async () => {
  provider = await ProviderSite.start(lab);
  await gateway.reset();
  provider.visits();
});
afterEach(() => provider.stop());
afterAll(() => lab?.close());

const account = async (...words: string[]) => said(await gateway.operate("account", ...words, "--json"));
const connect = () => gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
const client = () => lab.fetchFrom(lab.namespaces.client, PAGE);

function logIn(number: string) {
  const state = join(lab.sandbox.directory, "state");
  return lab.outside(commandLine("account", "login", "--json", "--state-dir", state), number).then(said);
}

/** What most tests begin with: an account, and a server that knows the device's key. */
async function loggedIn(): Promise<void> {
  const { code, public_key, addresses } = await logIn(`${NUMBER}\n`);
  expect(code).toBe(0);
  await serverKnows(public_key, addresses);
  provider.visits();
}

function said({ code, stdout, stderr }: Ran) {
  return { code, ...JSON.parse(stdout || JSON.stringify({ stderr })) };
}

/** What a provider does for its own: each of its servers knows the device's key, and no former one. */
async function serverKnows(key: string, addresses: string[]): Promise<void> {
  const set = (peer: string, ...what: string[]) =>
    lab.exec(lab.namespaces.vpn1, [
      "wg",
      "set",
      lab.sandbox.serverInterfaces.vpn1,
      ...["peer", peer, ...what],
    ]);
  for (const former of keys.splice(0)) await set(former, "remove");
  expect((await set(key, "allowed-ips", addresses.join(","))).code).toBe(0);
  keys.push(key);
}

test("while everything is blocked the operator logs in, and nothing else leaves", async () => {
  const told = gateway.log().length;
  const sniffer = await lab.sniff();
  const traffics = await Promise.all([
    lab.traffic(lab.namespaces.client),
    lab.traffic(lab.namespaces.gateway),
  ]);
  const { code, ...shown } = await logIn(`${NUMBER}\n`);
  await Promise.all(traffics.map((traffic) => traffic.stop()));
  expect([code, shown.success, shown.number, shown.warnings]).toEqual([0, true, "************3456", []]);
  expect(provider.visits()).toEqual([
    `POST /auth/v1/token from ${ROUTER.public4}`,
    `POST /accounts/v1/devices from ${ROUTER.public4}`,
    `GET /accounts/v1/accounts/me from ${ROUTER.public4}`,
  ]);
  const { leaks, missed } = await sniffer.stop();
  expect(missed).toBe(0);
  const ports = [
    ...gateway
      .log()
      .slice(told)
      .matchAll(/from port (\d+)/g),
  ].map(([, port]) => port);
  const exemption = (frame: string) =>
    ports.some((port) => frame.includes(`${INTERNET.host4} TCP ${port} > 443`));
  const lookup = (frame: string) => frame.includes(`${ROUTER.lan[2].v4} UDP 2`) && frame.includes(" > 53,");
  expect(ports).toHaveLength(3);
  expect(leaks.filter((frame) => !exemption(frame) && !lookup(frame))).toEqual([]);
});

test("the device connects, and the account is then asked for through the tunnel", async () => {
  await loggedIn();
  expect(await connect()).toEqual({ status: 200, body: { success: true } });
  expect(await client()).toContain(VPN.vpn1.v4);
  const { code, public_key } = await account("show");
  expect([code, public_key]).toEqual([0, keys[0]]);
  expect(provider.visits()).toEqual([
    `POST /auth/v1/token from ${VPN.vpn1.v4}`,
    `GET /accounts/v1/accounts/me from ${VPN.vpn1.v4}`,
    `GET /accounts/v1/devices/ID from ${VPN.vpn1.v4}`,
  ]);
});

test("under the tunnel neither the key nor the account is taken from it, and a restart keeps both", async () => {
  await loggedIn();
  expect((await connect()).status).toBe(200);
  for (const command of ["logout", "rotate-key"]) {
    const { code, error } = await account(command);
    expect(code).toBe(1);
    expect(error).toContain("disconnect first: portcullis disconnect");
  }
  await gateway.restart();
  expect((await gateway.api("GET", "/api/status")).body).toMatchObject({
    connected: true,
    server: "box-vpn-1",
  });
  expect(provider.visits()).toEqual([]);
});

test("another key connects once the provider's servers have it, and the former one no longer", async () => {
  await loggedIn();
  const [former = ""] = keys;
  const { code, public_key, addresses } = await account("rotate-key");
  expect([code, public_key === former]).toEqual([0, false]);
  expect((await connect()).status).toBe(500);
  await serverKnows(public_key, addresses);
  expect(await connect()).toEqual({ status: 200, body: { success: true } });
  expect(await client()).toContain(VPN.vpn1.v4);
});

test("a backup that is restored brings the account back at once", async () => {
  await loggedIn();
  const { stdout } = await gateway.operate("export", "--plain");
  provider.pause();
  expect(await account("logout", "--forget")).toMatchObject({ code: 0, success: true });
  provider.resume();
  expect((await connect()).status).toBe(400);
  const restore = commandLine("restore", "--state-dir", join(lab.sandbox.directory, "state"));
  expect((await lab.outside(restore, stdout)).code).toBe(0);
  expect(await connect()).toEqual({ status: 200, body: { success: true } });
});

test("logging out removes the device at the provider, and the account here at once", async () => {
  await loggedIn();
  expect(await account("logout")).toEqual({
    code: 0,
    success: true,
    device: "happy otter 50",
    remains: null,
  });
  expect(provider.visits()).toEqual([
    `POST /auth/v1/token from ${ROUTER.public4}`,
    `DELETE /accounts/v1/devices/ID from ${ROUTER.public4}`,
  ]);
  expect((await connect()).status).toBe(400);
  expect((await account("show")).error).toContain("there is no account here");
});

test("the log has neither the number nor a private key", async () => {
  await loggedIn();
  expect((await connect()).status).toBe(200);
  expect((await account("show")).code).toBe(0);
  const log = gateway.log();
  expect(log).not.toContain(NUMBER);
  expect(log).not.toMatch(/[A-Za-z0-9+/]{43}=/);
});
