import { afterEach, expect, setDefaultTimeout, spyOn } from "bun:test";
import { isIPv6 } from "node:net";
import { GatewayError } from "../../src/base/errors.ts";
import type { Mac } from "../../src/base/mac.ts";
import { Bridge } from "../../src/mqtt/bridge.ts";
import { Connection } from "../../src/mqtt/connection.ts";
import { slow } from "../fast.ts";
import { Home } from "../http/home.ts";
import { BODY, PRIVATE, PUBLIC } from "../servers/example.ts";
import { FakeBroker } from "./broker.ts";
import { PASSWORD, Shown } from "./shown.ts";

const { test } = slow;

setDefaultTimeout(240_000);

const NARROW = {
  name: "narrow",
  endpoint: "192.0.2.9:51820",
  public_key: PUBLIC,
  private_key: PRIVATE,
  address: "10.64.0.9/32",
};
const TV = "02:00:00:00:00:20" as Mac;
const GATEWAY = "homeassistant/device/portcullis_pi_gateway/config";
const MAIN = "portcullis/pi/tunnel/main/state";
const TV_EXIT = "portcullis/pi/device/02-00-00-00-00-20";

let shown: Shown;
afterEach(() => shown.stop());

const has = (topic: string) => () => shown.broker.retained.has(topic);
const main = () => shown.broker.json(MAIN);
const named = async () => {
  await shown.home.parts.devices.assign(TV, { name: "TV" });
};

test("of a name with several addresses, the next is tried where no broker listens at the first", async () => {
  const lookup = resolvesTo("::1", "127.0.0.1");
  const broker = await FakeBroker.start();
  shown = await Shown.start({ mqtt: `mqtt://broker.test:${broker.port}` }, undefined, broker);
  await shown.until(() => shown.lines.length > 0);
  lookup.mockRestore();
  expect(shown.lines).toEqual(["MQTT: connected to broker.test, which is on the LAN"]);
});

test("a broker that refuses is not asked again at the next address of its name", async () => {
  const lookup = resolvesTo("127.0.0.1", "127.0.0.2");
  const broker = await FakeBroker.start();
  broker.answer = 5;
  shown = await Shown.start({ mqtt: `mqtt://broker.test:${broker.port}` }, undefined, broker);
  await shown.until(() => shown.lines.length > 0);
  lookup.mockRestore();
  expect(shown.lines).toEqual([expect.stringContaining("MQTT: the broker refuses the user or the password")]);
});

/** What any name resolves to, until it is restored. */
function resolvesTo(...addresses: string[]) {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4, ttl: 0 }) as const);
  return spyOn(Bun.dns, "lookup").mockResolvedValue(found);
}

// What the topics of a home in which everything is used have: tests/golden/mqtt.txt.
test("everything is retained: discovery, states and that the gateway is there", async () => {
  shown = await Shown.start();
  await named();
  await shown.until(has(`${TV_EXIT}/state`));
  expect([...shown.broker.retained.keys()].sort()).toEqual([
    "homeassistant/device/portcullis_pi_device_02-00-00-00-00-20/config",
    GATEWAY,
    "homeassistant/device/portcullis_pi_tunnel_main/config",
    "portcullis/pi/availability",
    `${TV_EXIT}/state`,
    "portcullis/pi/gateway/alert",
    "portcullis/pi/gateway/state",
    "portcullis/pi/gateway/uplink",
    MAIN,
    "portcullis/pi/tunnel/main/traffic",
  ]);
  expect(shown.broker.retained.get("portcullis/pi/availability")).toBe("online");
  expect(shown.told).toEqual([
    { broker: `127.0.0.1:${shown.broker.port}`, tls: false, commands: false, connected: true, error: null },
  ]);
  expect(shown.broker.json(`${TV_EXIT}/state`)).toEqual({ exit: "main" });
});

test("the hello has user, password and last will; a stop says offline itself", async () => {
  shown = await Shown.start();
  await shown.until(has(MAIN));
  const [hello] = shown.broker.hellos;
  expect(hello).toMatchObject({ clientId: "portcullis-pi", username: "ha", clean: true });
  expect(String(hello?.password)).toBe(PASSWORD);
  expect(hello?.will).toMatchObject({ topic: "portcullis/pi/availability", qos: 0, retain: true });
  expect(String(hello?.will?.payload)).toBe("offline");
  await shown.end();
  expect(shown.broker.retained.get("portcullis/pi/availability")).toBe("offline");
});

test("without --mqtt-commands only Home Assistant's status is subscribed to, and commands have no effect", async () => {
  shown = await Shown.start();
  await shown.until(has(MAIN));
  expect(shown.broker.subscriptions).toEqual(["homeassistant/status"]);
  shown.broker.publish("portcullis/pi/tunnel/main/server/set", "se-1");
  await shown.pass(3_000);
  expect(main().state).toBe("disconnected");
  expect(shown.lines).toEqual(["MQTT: connected to 127.0.0.1, which is on the LAN"]);
});

test("a tunnel's quality is told once it is measured, and the uplink's", async () => {
  shown = await Shown.start();
  const unknown = { state: null, round_trip_ms: null, variation_ms: null, loss_percent: null };
  await shown.until(has("portcullis/pi/gateway/uplink"));
  const quality = () => shown.broker.json("portcullis/pi/tunnel/main/traffic").quality;
  expect(quality()).toEqual(unknown);
  await shown.home.connect();
  const { main, uplink } = shown.home.parts.tunnels;
  for (const ms of [20, 24, null, 22]) main.quality.quality.add(ms);
  uplink.quality.add(1.5);
  await shown.until(() => quality().state !== null);
  expect(quality()).toEqual({ state: "good", round_trip_ms: 22, variation_ms: 3, loss_percent: 25 });
  expect(shown.broker.json("portcullis/pi/gateway/uplink").quality).toEqual({
    ...{ state: "good", round_trip_ms: 1.5, variation_ms: null, loss_percent: 0 },
  });
  main.controller.lost("the server is dead");
  await shown.until(() => quality().state === null);
  expect(quality()).toEqual(unknown);
});

const COMMANDS = { mqttCommands: "on" };

test("a select connects the tunnel, the switch disconnects it and connects it again", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(has(MAIN));
  expect(shown.broker.subscriptions).toEqual([
    "homeassistant/status",
    "portcullis/pi/gateway/+/set",
    "portcullis/pi/tunnel/+/+/set",
    "portcullis/pi/device/+/+/set",
    "portcullis/pi/network/+/+/set",
    "portcullis/pi/list/+/+/set",
  ]);
  shown.broker.publish("portcullis/pi/tunnel/main/server/set", "Sweden");
  await shown.until(() => main().state === "connected");
  expect(main()).toMatchObject({ on: true, server: "se-1", endpoint: "192.0.2.1", destination: "Sweden" });
  shown.broker.publish("portcullis/pi/tunnel/main/connection/set", "OFF");
  await shown.until(() => main().state === "disconnected");
  expect(main()).toMatchObject({ on: false, server: null, destination: null });
  shown.broker.publish("portcullis/pi/tunnel/main/connection/set", "ON");
  await shown.until(() => main().state === "connected");
  expect(main()).toMatchObject({ on: true, server: "se-1", destination: "Sweden" });
});

test("if the last server has left its list, the switch connects to the one before it", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(has(MAIN));
  const { connects, catalogue } = shown.home.parts;
  await connects.connect({ server: "se-1" });
  catalogue.addCustom(BODY);
  await connects.connect({ server: BODY.name, provider: "custom" });
  await shown.until(() => main().server === BODY.name);
  shown.broker.publish("portcullis/pi/tunnel/main/connection/set", "OFF");
  await shown.until(() => main().state === "disconnected");
  catalogue.remove("custom", BODY.name);
  shown.broker.publish("portcullis/pi/tunnel/main/connection/set", "ON");
  await shown.until(() => main().state === "connected");
  expect(main()).toMatchObject({ on: true, server: "se-1" });
});

test("off and on brings the order of targets back", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(has(MAIN));
  const { connects, controller } = shown.home.parts;
  const targets = [{ server: "se-1" }, { server: "Sweden" }];
  await connects.connect({ targets, back_after_minutes: 30, back_when_quiet: true });
  const { order } = controller.asked;
  expect(order).toMatchObject({ targets, at: 0, back_after_minutes: 30, back_when_quiet: true });
  await shown.until(() => main().state === "connected");
  shown.broker.publish("portcullis/pi/tunnel/main/connection/set", "OFF");
  await shown.until(() => main().state === "disconnected");
  shown.broker.publish("portcullis/pi/tunnel/main/connection/set", "ON");
  await shown.until(() => main().state === "connected");
  expect(controller.asked.order).toEqual(order);
});

test("selects move a device and the default exit", async () => {
  shown = await Shown.start(COMMANDS);
  await named();
  await shown.until(has(`${TV_EXIT}/state`));
  shown.broker.publish(`${TV_EXIT}/exit/set`, "blocked");
  await shown.until(() => shown.broker.json(`${TV_EXIT}/state`).exit === "blocked");
  shown.broker.publish("portcullis/pi/gateway/exit/set", "blocked");
  await shown.until(() => shown.broker.json("portcullis/pi/gateway/state").exit === "blocked");
});

test("a network that was given a name has a select, which moves its devices, and its rate and quota", async () => {
  shown = await Shown.start(COMMANDS);
  const state = "portcullis/pi/network/lan0/state";
  await shown.until(has(GATEWAY));
  expect(shown.broker.retained.has(state)).toBe(false);
  await shown.home.parts.devices.networks.set("lan0", { name: "Home" });
  await shown.until(has(state));
  const { device, components } = shown.broker.json("homeassistant/device/portcullis_pi_network_lan0/config");
  expect(device).toMatchObject({ name: "Home", model: "network of the LAN" });
  expect(components.exit_choice.options).toEqual(["main", "blocked"]);
  shown.broker.publish("portcullis/pi/network/lan0/exit/set", "blocked");
  await shown.until(() => shown.broker.json(state).exit === "blocked");
  const { networks } = shown.home.parts.devices;
  expect(networks.list().networks[0]).toMatchObject({ exit: "blocked", name: "Home" });
  await networks.set("lan0", { rate: { down: 20, up: null }, quota: { megabytes: 500, every: "day" } });
  await shown.until(has("portcullis/pi/network/lan0/quota"));
  expect(shown.broker.json(state)).toEqual({ exit: "blocked", rate_down: 20 });
  expect(shown.broker.json("portcullis/pi/network/lan0/quota")).toMatchObject({ used: 0, left: 500 });
});

test("another home is a device that says whether it is heard, and goes with the link", async () => {
  shown = await Shown.start();
  await shown.until(has(GATEWAY));
  const { remoteAccess } = shown.home.parts;
  await remoteAccess.turnOn({ endpoint: "home.example.org", port: 51_820, through: null });
  await remoteAccess.addLink("Mum & Dad");
  const key = "link/c4e5b058974b";
  await shown.until(has(`portcullis/pi/${key}/state`));
  expect(shown.broker.json(`portcullis/pi/${key}/state`)).toEqual({
    ...{ state: "waiting", error: null, prefixes: [] },
  });
  const discovery = `homeassistant/device/portcullis_pi_${key.replace("/", "_")}/config`;
  const { device, components } = shown.broker.json(discovery);
  expect([device.name, Object.keys(components)]).toEqual(["Mum & Dad", ["connected"]]);
  await remoteAccess.removeLink("Mum & Dad");
  await shown.until(() => !has(discovery)());
});

test("a switch pauses the lists of blocked names and ends the pause; it is there while there is a list", async () => {
  shown = await Shown.start(COMMANDS);
  const discovery = "homeassistant/device/portcullis_pi_gateway/config";
  const state = () => shown.broker.json("portcullis/pi/gateway/state");
  await shown.until(has(discovery));
  expect(shown.broker.json(discovery).components.block_lists).toEqual({ platform: "switch" });
  const { blockLists } = shown.home.parts;
  await blockLists.put({ lists: [{ url: "https://lists.example/ads.txt" }] });
  await shown.until(() => state().block_lists === true);
  expect(shown.broker.json(discovery).components.block_lists.name).toBe("Block lists");
  shown.broker.publish("portcullis/pi/gateway/block_lists/set", "OFF");
  await shown.until(() => state().block_lists === false);
  expect(blockLists.pausedUntilText).not.toBeNull();
  shown.broker.publish("portcullis/pi/gateway/block_lists/set", "ON");
  await shown.until(() => state().block_lists === true);
  expect(blockLists.pausedUntilText).toBeNull();
  const list = "portcullis/pi/list/b587d5591120";
  await shown.until(has(`${list}/state`));
  shown.broker.publish(`${list}/on/set`, "OFF");
  await shown.until(() => shown.broker.json(`${list}/state`).on === false);
  expect(blockLists.isUsed).toBe(false);
  shown.broker.publish(`${list}/on/set`, "ON");
  await shown.until(() => shown.broker.json(`${list}/state`).on === true);
  expect(blockLists.isUsed).toBe(true);
  await blockLists.put({ lists: [] });
  await shown.until(() => !shown.broker.retained.has(`${list}/state`));
  await shown.until(() => shown.broker.json(discovery).components.block_lists.name === undefined);
});

test("a command that cannot be carried out is logged, changes nothing, and is answered by the state", async () => {
  shown = await Shown.start(COMMANDS);
  await named();
  await shown.until(has(`${TV_EXIT}/state`));
  const states = () => shown.broker.messages.filter(({ topic }) => topic.endsWith("/state")).length;
  const cases: [string, string, string][] = [
    [
      "tunnel/main/server",
      "nowhere",
      "server: there is no server, country or city of this name among the VPN account's servers",
    ],
    ["tunnel/main/connection", "toggle", "the payload must be ON or OFF"],
    ["gateway/block_lists", "5", "the payload must be ON or OFF"],
    ["tunnel/main/connection", "ON", "the tunnel has never been connected: choose a server first"],
    [
      "gateway/exit",
      "direct",
      "exit: direct cannot be the default exit, because every new device would leave outside the tunnel; give it to single devices",
    ],
    [
      "device/02-00-00-00-00-20/exit",
      "direct",
      "exit: no device may leave directly, outside the tunnel; to allow it, type on the gateway: sudo portcullis direct on",
    ],
    ["device/02-00-00-00-00-99/exit", "main", "there is no such command"],
    ["tunnel/other/server", "se-1", "there is no such command"],
    ["tunnel/main/server", "x".repeat(600), "the payload is too long"],
  ];
  for (const [topic, payload, reason] of cases) {
    const before = states();
    shown.lines.length = 0;
    shown.broker.publish(`portcullis/pi/${topic}/set`, payload);
    await shown.until(() => shown.lines.length > 0);
    await shown.pass(2_000);
    expect(shown.lines).toEqual([`MQTT: a command was not carried out: ${reason}`]);
    const isKnown = !topic.includes("99") && !topic.includes("other");
    expect(states() - before).toBe(isKnown ? 1 : 0);
  }
  expect(main()).toMatchObject({ state: "disconnected", on: false });
});

test("a retained command is not carried out: it would be, again and again, after each connection", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(has(MAIN));
  shown.broker.publish("portcullis/pi/tunnel/main/server/set", "se-1", true);
  await shown.pass(3_000);
  expect(main().state).toBe("disconnected");
});

test("no more than five commands a second are carried out", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(has(MAIN));
  shown.lines.length = 0;
  for (let count = 0; count < 50; count++)
    shown.broker.publish("portcullis/pi/tunnel/main/server/set", "nowhere");
  await shown.pass(500);
  expect(shown.lines).toHaveLength(5);
});

test("while nothing changes nothing is sent, and rates are sent every 30 s", async () => {
  shown = await Shown.start();
  await shown.until(has(MAIN));
  await shown.home.connect();
  await shown.until(() => main()?.state === "connected");
  await shown.pass(65_000);
  shown.broker.messages.length = 0;
  const peer = [...shown.home.host.links.values()].flatMap(({ device }) => device?.peer ?? [])[0];
  if (peer === undefined) throw new Error("no peer");
  await shown.pass(65_000);
  const topics = new Set(shown.broker.messages.map(({ topic }) => topic));
  expect([...topics].filter((topic) => topic !== "portcullis/pi/tunnel/main/traffic")).toEqual([]);
  expect(shown.broker.messages.length).toBeLessThanOrEqual(3);
});

test("what was asked and blocked is there while the gateway answers queries, in all and of each known device", async () => {
  shown = await Shown.start();
  await named();
  const [all, ofTv] = ["portcullis/pi/gateway/dns", `${TV_EXIT}/dns`];
  await shown.until(has(`${TV_EXIT}/state`));
  expect([shown.broker.retained.has(all), shown.broker.retained.has(ofTv)]).toEqual([false, false]);
  expect(shown.broker.json(GATEWAY).components.dns_asked).toEqual({ platform: "sensor" });
  const { dns } = shown.home.parts;
  dns.state = "on";
  Object.assign(dns.counts, { asked: 5, blocked: 2 });
  dns.byDevice.asked(TV);
  await shown.until(() => has(all)() && has(ofTv)());
  expect(shown.broker.json(all)).toEqual({ asked: 5, blocked: 2 });
  expect(shown.broker.json(ofTv)).toEqual({ asked: 1, blocked: 0 });
  expect(shown.broker.json(GATEWAY).components.dns_asked).toMatchObject({ state_topic: all });
  // Rarely, however much is asked.
  shown.broker.messages.length = 0;
  for (let turn = 0; turn < 40; turn += 1) {
    dns.counts.asked += 1;
    await shown.pass(1_000);
  }
  const sent = shown.broker.messages.filter(({ topic }) => topic === all).length;
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThanOrEqual(2);
});

test("a device's rate and quota are there while it has them, and the shared ones at the gateway", async () => {
  shown = await Shown.start();
  const { devices } = shown.home.parts;
  const [ofTv, shared] = [`${TV_EXIT}/quota`, "portcullis/pi/gateway/quota"];
  const TV_CONFIG = "homeassistant/device/portcullis_pi_device_02-00-00-00-00-20/config";
  const sensors = (config: string) => {
    const { rate_down, rate_up, quota_used, quota_left } = shown.broker.json(config).components;
    return [rate_down, rate_up, quota_used, quota_left].map(({ name }) => name ?? null);
  };
  await named();
  await shown.until(has(`${TV_EXIT}/state`));
  expect(sensors(TV_CONFIG)).toEqual([null, null, null, null]);
  await devices.assign(TV, { rate: { down: 20, up: null }, quota: { megabytes: 500, every: "day" } });
  await devices.setSharedRate({ down: 50, up: 5.5 });
  const at_end = { down: 1, up: 1 };
  await devices.setSharedQuota({ megabytes: 1_000, every: "month", at_end });
  await shown.until(() => has(ofTv)() && has(shared)());
  expect(sensors(TV_CONFIG)).toEqual(["Download limit", null, "Quota used", "Quota left"]);
  expect(sensors(GATEWAY)).toEqual([
    ...["Shared download limit", "Shared upload limit", "Shared quota used", "Shared quota left"],
  ]);
  expect(shown.broker.json(`${TV_EXIT}/state`)).toEqual({ exit: "main", rate_down: 20 });
  expect(shown.broker.json("portcullis/pi/gateway/state")).toMatchObject({ rate_down: 50, rate_up: 5.5 });
  const day = { megabytes: 500, every: "day", at_end: "blocked" };
  expect(shown.broker.json(ofTv)).toEqual({ used: 0, left: 500, ...day });
  shown.home.host.useQuotas(1_234_567);
  await shown.until(() => shown.broker.json(ofTv).used > 0);
  expect(shown.broker.json(ofTv)).toEqual({ used: 1.235, left: 498.765, ...day });
  expect(shown.broker.json(shared)).toEqual({
    ...{ used: 1.235, left: 998.765, megabytes: 1_000, every: "month", at_end: "1 Mbit/s each way" },
  });
  await devices.assign(TV, { rate: null, quota: null });
  await devices.setSharedRate(null);
  await devices.setSharedQuota(null);
  await shown.until(() => sensors(TV_CONFIG)[3] === null && sensors(GATEWAY)[3] === null);
  expect([...sensors(TV_CONFIG), ...sensors(GATEWAY)]).toEqual(Array(8).fill(null));
  expect(shown.broker.json(`${TV_EXIT}/state`)).toEqual({ exit: "main" });
});

test("what is used of a quota is sent rarely, but at once when it is used up or begins again", async () => {
  shown = await Shown.start();
  const { parts, host } = shown.home;
  const topic = `${TV_EXIT}/quota`;
  const figures = () => {
    const all = shown.broker.messages.filter((message) => message.topic === topic);
    return all.map(({ payload }) => JSON.parse(payload));
  };
  await named();
  await parts.devices.assign(TV, { quota: { megabytes: 500, every: "day" } });
  await shown.until(has(topic));
  shown.broker.messages.length = 0;
  // Something else happens each second.
  const tick = async () => {
    parts.events.publish({ type: "schedules_update", payload: { count: 0 } });
    await shown.pass(1_000);
  };
  for (let turn = 0; turn < 40; turn += 1) {
    host.useQuotas(1_000_000);
    await tick();
  }
  expect(figures().length).toBeGreaterThan(0);
  expect(figures().length).toBeLessThanOrEqual(2);
  host.useQuotas(500_000_000);
  await tick();
  await tick();
  expect(figures().at(-1)).toMatchObject({ used: 500, left: 0 });
  await parts.devices.assign(TV, { quota: null });
  await tick();
  await parts.devices.assign(TV, { quota: { megabytes: 500, every: "day" } });
  await tick();
  await tick();
  expect(figures().at(-1)).toMatchObject({ used: 0, left: 500 });
});

test("a state that changes all the time is sent once a second", async () => {
  shown = await Shown.start();
  await named();
  await shown.until(has(`${TV_EXIT}/state`));
  await shown.pass(2_000);
  shown.broker.messages.length = 0;
  for (let turn = 0; turn < 17; turn++) {
    await shown.home.parts.devices.assign(TV, { exit: turn % 2 === 0 ? "blocked" : "main" });
    await shown.pass(300);
  }
  const sent = shown.broker.messages.filter(({ topic }) => topic === `${TV_EXIT}/state`).length;
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThanOrEqual(6);
});

test("Home Assistant's start gets everything again, but not more often than every ten seconds", async () => {
  shown = await Shown.start();
  await shown.until(has(MAIN));
  await shown.pass(2_000);
  const discoveries = () => shown.broker.messages.filter(({ topic }) => topic === GATEWAY).length;
  const before = discoveries();
  for (let count = 0; count < 20; count++) shown.broker.publish("homeassistant/status", "online");
  await shown.pass(5_000);
  expect(discoveries()).toBe(before + 1);
  shown.broker.publish("homeassistant/status", "offline");
  await shown.pass(10_000);
  expect(discoveries()).toBe(before + 1);
  shown.broker.publish("homeassistant/status", "online");
  await shown.pass(2_000);
  expect(discoveries()).toBe(before + 2);
});

test("a device that is forgotten vanishes from the broker, and so does a tunnel", async () => {
  shown = await Shown.start();
  await named();
  await shown.home.parts.connects.connect({ server: "se-1" }, "tv");
  await shown.until(has("portcullis/pi/tunnel/tv/state"));
  await shown.home.parts.devices.forget(TV);
  await shown.home.parts.tunnels.named("tv").controller.disconnect();
  await shown.home.parts.tunnels.remove("tv");
  await shown.until(() => ![...shown.broker.retained.keys()].some((topic) => /tv|device.02/.test(topic)));
  expect(shown.broker.retained.has(MAIN)).toBe(true);
});

test("what vanishes while the gateway and the broker are apart is removed later", async () => {
  shown = await Shown.start();
  await named();
  await shown.until(has(`${TV_EXIT}/state`));
  await shown.end();
  await shown.home.parts.devices.forget(TV);
  const { home, broker } = shown;
  shown = await Shown.start({}, home, broker);
  await shown.until(() => !broker.retained.has(`${TV_EXIT}/state`));
  expect([...broker.retained.keys()].filter((topic) => topic.includes("02-00"))).toEqual([]);
});

test("a broker that goes and comes back gets everything again; the log says each once", async () => {
  shown = await Shown.start();
  await shown.until(has(MAIN));
  const { port } = shown.broker;
  await shown.pass(61_000);
  await shown.broker.stop();
  await shown.pass(90_000);
  const broker = await FakeBroker.start(port);
  Object.assign(shown, { broker });
  await shown.until(has(MAIN));
  expect(broker.retained.get("portcullis/pi/availability")).toBe("online");
  expect(shown.lines).toEqual([
    "MQTT: connected to 127.0.0.1, which is on the LAN",
    "MQTT: the broker closed the connection",
    "MQTT: connection refused",
    "MQTT: connected to 127.0.0.1, which is on the LAN",
  ]);
});

test("a broker that closes each connection at once is tried ever more seldom, and does not fill the log", async () => {
  shown = await Shown.start();
  for (let second = 0; second < 300; second++) {
    shown.broker.drop();
    await shown.home.pass(1_000);
    await Bun.sleep(2);
  }
  expect(shown.broker.hellos.length).toBeLessThan(20);
  expect(shown.lines.length).toBeLessThanOrEqual(2);
});

test.each([
  [4, "the broker refuses the user or the password: see --mqtt and --mqtt-password-file"],
  [5, "the broker refuses the user or the password: see --mqtt and --mqtt-password-file"],
  [3, "the broker is not available"],
  [77, "the broker refuses the connection"],
  [null, "the broker does not answer"],
] as const)(
  "a broker that answers %p is asked again ever more seldom, and the log says once why",
  async (code, reason) => {
    const broker = await FakeBroker.start();
    broker.answer = code;
    shown = await Shown.start({}, undefined, broker);
    await shown.pass(300_000);
    expect(shown.lines).toEqual([`MQTT: ${reason}`]);
    // Without the user.
    const address = { broker: `127.0.0.1:${broker.port}`, tls: false, commands: false };
    expect(shown.told).toEqual([{ ...address, connected: false, error: reason }]);
    expect(broker.hellos.length).toBeGreaterThan(3);
    expect(broker.hellos.length).toBeLessThan(20);
    broker.answer = 0;
    await shown.until(has(MAIN));
  },
);

test("a missing password file is said, and the new password is used without a restart", async () => {
  const broker = await FakeBroker.start();
  shown = await Shown.start({ mqttPasswordFile: "/etc/none" }, undefined, broker);
  await shown.until(() => shown.lines.length > 0);
  expect(shown.lines).toEqual(["MQTT: the file /etc/none (--mqtt-password-file) cannot be read"]);
  shown.home.host.files.set("/etc/none", "new");
  await shown.until(has(MAIN));
  expect(broker.hellos.map(({ password }) => String(password))).toEqual(["new"]);
});

test("a broker outside the LAN is not contacted without a tunnel", async () => {
  shown = await Shown.start({ mqtt: "mqtt://192.0.2.77" });
  await shown.until(() => shown.lines.length > 0);
  expect(shown.lines).toEqual([
    "MQTT: 192.0.2.77 is not on the LAN, and there is no tunnel to reach it through",
  ]);
});

test("a broker outside the LAN is not contacted if the tunnel does not lead to it, whatever the kill switch", async () => {
  const home = await Home.start();
  await home.parts.catalogue.addCustom({ ...NARROW, allowed_ips: "10.0.0.0/8" });
  home.parts.catalogue.use("custom");
  await home.connect(NARROW.name);
  await home.parts.operatorSwitch.turn(false);
  shown = await Shown.start({ mqtt: "mqtt://192.0.2.77" }, home);
  await shown.until(() => shown.lines.length > 0);
  expect(shown.lines).toEqual([
    "MQTT: 192.0.2.77 is not on the LAN, and there is no tunnel to reach it through",
  ]);
});

test("a connection that may not be used any more is left at once, and the service goes on", async () => {
  shown = await Shown.start();
  const { home, broker } = shown;
  await shown.end();
  let fault: string | null = null;
  const will = { topic: "portcullis/pi/availability", payload: "offline" };
  const dialled = {
    address: "127.0.0.1",
    from: null,
    port: broker.port,
    certified: null,
    authority: null,
    will,
  };
  const lines: string[] = [];
  const ending = new AbortController();
  const bridge = new Bridge({
    ...{ gateway: home.parts, clock: home.host, store: home.parts.store, commands: false },
    log: { info: (line) => lines.push(line), warn: (line) => lines.push(line) },
    status: { is: () => {} },
    connected: () => "connected",
    site: { id: "pi", page: "http://pi.local:5000/" },
    open: (signal) =>
      Connection.open({ ...dialled, clientId: "x", user: null, password: null }, home.host, signal),
    fault: () => fault,
  });
  const before = broker.hellos.length;
  const running = bridge.run(ending.signal);
  await shown.until(() => broker.hellos.length > before);
  fault = "the tunnel to the broker has ended";
  await home.connect();
  await shown.until(() => lines.length > 1);
  expect(lines).toEqual(["MQTT: connected", "MQTT: the tunnel to the broker has ended"]);
  ending.abort();
  await shown.pass(1_000);
  await running;
});

test("a disk that takes no writes keeps no state from Home Assistant", async () => {
  const home = await Home.start();
  home.parts.store.write = () => {
    throw new GatewayError("storage_full", "the disk is full");
  };
  shown = await Shown.start({}, home);
  await shown.until(has(MAIN));
  expect(shown.lines).toContain("MQTT: what Home Assistant shows could not be saved: the disk is full");
});

test("a stop while the broker does not answer is quick and says nothing", async () => {
  const broker = await FakeBroker.start();
  broker.answer = null;
  shown = await Shown.start({}, undefined, broker);
  await shown.until(() => broker.hellos.length > 0);
  await shown.end();
  expect(shown.lines).toEqual([]);
});

test("a subscription that the broker refuses is said once", async () => {
  const broker = await FakeBroker.start();
  broker.forbidden = "portcullis/pi/tunnel/+/+/set";
  shown = await Shown.start(COMMANDS, undefined, broker);
  await shown.until(has(MAIN));
  await shown.pass(5_000);
  expect(shown.lines).toEqual([
    "MQTT: connected to 127.0.0.1, which is on the LAN",
    "MQTT: the broker does not let the gateway subscribe to portcullis/pi/tunnel/+/+/set",
  ]);
});

test("an alert is shown with its text, also after a restart", async () => {
  shown = await Shown.start();
  await shown.until(has("portcullis/pi/gateway/alert"));
  const alert = () => shown.broker.json("portcullis/pi/gateway/alert");
  expect(alert()).toEqual({ code: null });
  shown.home.parts.alerts.raise("foreign_rule", { what: "wg_quick", rules: "5 lookup 7" });
  await shown.until(() => alert().code !== null);
  const expected = {
    code: "foreign_rule",
    args: { what: "wg_quick", rules: "5 lookup 7" },
    message: expect.stringContaining(
      "only the firewall blocks: 5 lookup 7; to remove it: sudo wg-quick down",
    ),
    at: expect.any(String),
  };
  expect(alert()).toEqual(expected);
  await shown.end();
  shown.broker.retained.clear();
  const { home, broker } = shown;
  shown = await Shown.start({}, home, broker);
  await shown.until(has("portcullis/pi/gateway/alert"));
  expect(alert()).toEqual(expected);
});

test("keys, the password and addresses of devices are in no message", async () => {
  shown = await Shown.start(COMMANDS);
  await named();
  shown.home.hear(TV, "192.168.7.20");
  await shown.home.connect();
  await shown.until(() => main()?.state === "connected");
  const all = JSON.stringify(shown.broker.messages);
  expect(all).not.toMatch(/[A-Za-z0-9+/]{43}=/);
  expect(all).not.toContain(PASSWORD);
  expect(all).not.toContain("192.168.7.20");
  expect(shown.lines.join()).not.toContain(PASSWORD);
});
