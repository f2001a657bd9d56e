import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Mosquitto, PASSWORD, USER } from "../rig/peers/mosquitto.ts";
import { CLIENT_ENVIRONMENT, UNPACKED } from "../rig/tools/client-programs.ts";
import { createLab, type Gateway, type GatewayOptions, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(180_000);

/** Long enough for some attempts to reach the broker. */
const WATCHED_MS = 8_000;

let lab: Lab;
let home: Mosquitto;
/** On the internet. */
let far: Mosquitto;
let gateway: Gateway;
const options: GatewayOptions = {};
let base: string;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  home = await Mosquitto.create(lab, lab.namespaces.client);
  far = await Mosquitto.create(lab, lab.namespaces.internet);
  const { stdout } = await lab.outside(["hostname"]);
  base = `portcullis/${stdout
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")}`;
  gateway = await lab.startGateway(options);
  await gateway.keep();
  writeFileSync(passwordFile(), `${PASSWORD}\n`, { mode: 0o600 });
});
/** A gateway that has heard of no broker, and a broker that has forgotten everything. */
beforeEach(async () => {
  await home.stop();
  await home.start();
  delete options.flags;
  await gateway.reset();
});
afterAll(async () => {
  await home?.stop();
  await far?.stop();
  await lab?.close();
});

const passwordFile = () => join(lab.sandbox.directory, "mqtt.password");
/** Restarts the service with this broker. */
function use(mqtt: string): Promise<void> {
  options.flags = ["--mqtt", mqtt, "--mqtt-password-file", passwordFile(), "--mqtt-commands", "on"];
  return gateway.restart();
}
/** The same with the broker of the LAN, which is told of everything. */
async function useHome(): Promise<void> {
  await use(`mqtt://${USER}@${LAN.client4}`);
  await until(async () => (await main()) !== null);
}
const connect = async (server: string) =>
  expect((await gateway.api("POST", "/api/connect", { server })).status).toBe(200);
const main = () => home.json(`${base}/tunnel/main/state`);
const available = async () => (await home.retained()).get(`${base}/availability`);

/** Who came to the broker on the internet, and under what name. */
const visitors = () =>
  [...far.log.matchAll(/New client connected from ([^ ]+):\d+ as (\S+)/g)].map(([, from, name]) => ({
    from,
    name,
  }));

test("positive control: without the service a client on the gateway reaches a broker on the internet outside any tunnel", async () => {
  await gateway.expose();
  const sniffer = await lab.sniff();
  const client = `${UNPACKED}/usr/bin/mosquitto_pub`;
  const given = ["-h", INTERNET.host4, "-u", USER, "-P", PASSWORD, "-i", "control", "-t", "x", "-n"];
  await lab.exec(lab.namespaces.gateway, [
    "env",
    `LD_LIBRARY_PATH=${CLIENT_ENVIRONMENT.LD_LIBRARY_PATH}`,
    client,
    ...given,
  ]);
  expect(visitors()).toContainEqual({ from: ROUTER.public4, name: "control" });
  expect((await sniffer.stop()).leaks.length).toBeGreaterThan(0);
});

test("in a home whose tunnel is down, the broker on the LAN gets discovery and states", async () => {
  await useHome();
  const id = base.replace("/", "_");
  const topics = [...(await home.retained()).keys()].sort();
  expect(topics).toEqual([
    `homeassistant/device/${id}_gateway/config`,
    `homeassistant/device/${id}_tunnel_main/config`,
    `${base}/availability`,
    `${base}/gateway/alert`,
    `${base}/gateway/state`,
    `${base}/gateway/uplink`,
    `${base}/tunnel/main/state`,
    `${base}/tunnel/main/traffic`,
  ]);
  expect(await main()).toMatchObject({ state: "disconnected", on: false });
  expect(await home.json(`${base}/gateway/state`)).toMatchObject({ kill_switch: true, problem: null });
  expect(await available()).toBe("online");
});

test("a select connects and switches the tunnel; the switch disconnects it, and connects it again", async () => {
  await useHome();
  await home.publish(`${base}/tunnel/main/server/set`, "box-vpn-1");
  await until(async () => (await main()).state === "connected");
  expect(await main()).toMatchObject({
    server: "box-vpn-1",
    endpoint: VPN.vpn1.v4,
    destination: "box-vpn-1",
  });
  expect(await lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`)).toContain(VPN.vpn1.v4);
  await home.publish(`${base}/tunnel/main/server/set`, "box-vpn-2");
  await until(async () => (await main()).server === "box-vpn-2");
  await home.publish(`${base}/tunnel/main/connection/set`, "OFF");
  await until(async () => (await main()).state === "disconnected");
  expect(await lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`)).toBeNull();
  await home.publish(`${base}/tunnel/main/connection/set`, "ON");
  await until(async () => (await main()).server === "box-vpn-2");
});

test("after a SIGKILL the broker says that the gateway is gone; after its start, that it is there", async () => {
  await useHome();
  await gateway.kill("SIGKILL");
  await until(async () => (await available()) === "offline");
  await gateway.start();
  await until(async () => (await available()) === "online");
});

test("a broker on the internet is reached through the tunnel alone, whatever happens to the tunnel", async () => {
  const clients = () =>
    visitors().flatMap(({ from, name }) => (name?.startsWith("portcullis-") ? [from] : []));
  const sniffer = await lab.sniff();
  const before = clients().length;
  const told = gateway.log().length;
  const said = () => gateway.log().slice(told);
  await use(`mqtt://${USER}@${INTERNET.host4}`);
  await until(() => /MQTT: .*(closed|no tunnel|cannot be reached)/.test(said()));
  await Bun.sleep(WATCHED_MS);
  expect(clients()).toHaveLength(before);
  await connect("box-vpn-1");
  await until(() => clients().length > before);
  expect(clients().at(-1)).toBe(VPN.vpn1.v4);
  const { leaks } = await sniffer.stop();
  expect(leaks).toEqual([]);
  expect(clients()).not.toContain(ROUTER.public4);
  // With the kill switch off, everything else leaves outside the tunnel.
  expect((await gateway.operate("killswitch", "off")).code).toBe(0);
  const after = clients().length;
  await gateway.api("POST", "/api/disconnect");
  await until(() => said().includes("the tunnel to the broker has ended"));
  await Bun.sleep(WATCHED_MS);
  expect(clients()).toHaveLength(after);
});
