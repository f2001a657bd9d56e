import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { CLIENT_ENVIRONMENT, UNPACKED } from "./client-programs.ts";
import { createLab, type Gateway, type Lab } from "./lab.ts";
import { Mosquitto, PASSWORD, USER } from "./mosquitto.ts";
import { until } from "./until.ts";

setDefaultTimeout(180_000);

let lab: Lab;
let home: Mosquitto;
/** On the internet. */
let far: Mosquitto;
let gateway: Gateway;
let base: string;

beforeAll(async () => {
  lab = await createLab({ arms: 2 });
  home = await Mosquitto.create(lab, lab.namespaces.client, LAN.client4);
  far = await Mosquitto.create(lab, lab.namespaces.internet, "internet.test");
  writeFileSync(passwordFile(), `${PASSWORD}\n`, { mode: 0o600 });
  const { stdout } = await lab.outside(["hostname"]);
  base = `portcullis/${stdout
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")}`;
});
afterAll(async () => {
  await home?.stop();
  await far?.stop();
  await lab?.close();
});

const passwordFile = () => join(lab.sandbox.directory, "mqtt.password");
const start = (mqtt: string, ...flags: string[]) =>
  lab.startGateway({
    inNamespace: true,
    flags: ["--mqtt", mqtt, "--mqtt-password-file", passwordFile(), "--mqtt-commands", "on", ...flags],
  });
const main = () => home.json(`${base}/tunnel/main/state`);
const available = async () => (await home.retained()).get(`${base}/availability`);

/** Who came to the broker on the internet, and under what name. */
const visitors = () =>
  [...far.log.matchAll(/New client connected from ([^ ]+):\d+ as (\S+)/g)].map(([, from, name]) => ({
    from,
    name,
  }));

test("positive control: without the service a client on the gateway reaches a broker on the internet outside any tunnel", async () => {
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
  gateway = await start(`mqtt://${USER}@${LAN.client4}`);
  await until(async () => (await main()) !== null);
  const id = base.replace("/", "_");
  const topics = [...(await home.retained()).keys()].sort();
  expect(topics).toEqual([
    `homeassistant/device/${id}_gateway/config`,
    `homeassistant/device/${id}_tunnel_main/config`,
    `${base}/availability`,
    `${base}/gateway/alert`,
    `${base}/gateway/state`,
    `${base}/tunnel/main/state`,
    `${base}/tunnel/main/traffic`,
  ]);
  expect(await main()).toMatchObject({ state: "disconnected", on: false });
  expect(await home.json(`${base}/gateway/state`)).toMatchObject({ kill_switch: true, problem: null });
  expect(await available()).toBe("online");
});

test("a select connects and switches the tunnel; the switch disconnects it, and connects it again", async () => {
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

test("a broker that is killed and started again, and has forgotten everything, gets it all again", async () => {
  await home.stop();
  await home.start();
  await until(async () => (await main())?.server === "box-vpn-2");
  expect(await available()).toBe("online");
});

test("after a SIGKILL the broker says that the gateway is gone; after its start, that it is there", async () => {
  await gateway.kill("SIGKILL");
  await until(async () => (await available()) === "offline");
  await gateway.start();
  await until(async () => (await available()) === "online");
});

test("with a wrong password the log says so, once, without it; the right one needs no restart", async () => {
  await gateway.kill("SIGTERM");
  expect(await available()).toBe("offline");
  writeFileSync(passwordFile(), "battery-staple\n");
  gateway = await start(`mqtt://${USER}@${LAN.client4}`);
  const refusal =
    "warn: MQTT: the broker refuses the user or the password: see --mqtt and --mqtt-password-file\n";
  await until(() => gateway.log().includes(refusal));
  writeFileSync(passwordFile(), PASSWORD);
  await until(async () => (await available()) === "online");
  expect(gateway.log().split(refusal)).toHaveLength(2);
  expect(gateway.log()).not.toContain("battery-staple");
  expect(gateway.log()).not.toContain(PASSWORD);
  await gateway.kill("SIGTERM");
});

test("with TLS the broker's certificate has to be from the home's own authority", async () => {
  gateway = await start(`mqtts://${USER}@${LAN.client4}`);
  await until(() => /warn: MQTT: .*certificate/.test(gateway.log()));
  expect(await available()).toBe("offline");
  await gateway.kill("SIGTERM");
  gateway = await start(`mqtts://${USER}@${LAN.client4}`, "--mqtt-ca-file", home.authority);
  await until(async () => (await available()) === "online");
  await gateway.kill("SIGTERM");
});

test("a broker on the internet is reached through the tunnel alone, whatever happens to the tunnel", async () => {
  const clients = () =>
    visitors().flatMap(({ from, name }) => (name?.startsWith("portcullis-") ? [from] : []));
  const sniffer = await lab.sniff();
  gateway = await start(`mqtt://${USER}@${INTERNET.host4}`);
  // The service connects again by itself.
  await gateway.api("POST", "/api/disconnect");
  await until(async () => (await gateway.api("GET", "/api/status")).body.state === "disconnected");
  const before = clients().length;
  await until(() => /MQTT: .*(closed|no tunnel|cannot be reached)/.test(gateway.log()));
  await Bun.sleep(5_000);
  expect(clients()).toHaveLength(before);
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  await until(() => clients().length > before);
  expect(clients().at(-1)).toBe(VPN.vpn1.v4);
  const { leaks } = await sniffer.stop();
  expect(leaks).toEqual([]);
  expect(clients()).not.toContain(ROUTER.public4);
  // With the kill switch off, everything else leaves outside the tunnel.
  expect((await gateway.operate("killswitch", "off")).code).toBe(0);
  const after = clients().length;
  await gateway.api("POST", "/api/disconnect");
  await until(() => gateway.log().includes("there is no tunnel to the broker any more"));
  await Bun.sleep(8_000);
  expect(clients()).toHaveLength(after);
  await gateway.operate("killswitch", "on");
  await gateway.kill("SIGTERM");
});
