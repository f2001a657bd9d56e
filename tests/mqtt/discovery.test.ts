import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { version } from "../../package.json";
import { mustParseAddress, mustParsePrefix } from "../../src/base/address.ts";
import type { Device } from "../../src/devices/schema.ts";
import { addressesOf, brokerIn, wayTo } from "../../src/mqtt/broker.ts";
import { destinationsOf } from "../../src/mqtt/destinations.ts";
import { deviceThing, knownDevices } from "../../src/mqtt/device-entities.ts";
import { socketTo } from "../../src/mqtt/dialled.ts";
import { commandIn, deviceKey, idOf, networkKey } from "../../src/mqtt/topics.ts";
import type { ServerTree } from "../../src/servers/schema.ts";
import { Shown } from "./shown.ts";

/** The root of a device's discovery (home-assistant.io/integrations/mqtt, "Device discovery payload"): required, then others. */
const ROOT = {
  required: ["device", "origin", "components"],
  optional: [
    "availability",
    "availability_mode",
    "availability_topic",
    "availability_template",
    "payload_available",
    "payload_not_available",
    "command_topic",
    "state_topic",
    "qos",
    "encoding",
  ],
};
const DEVICE = [
  "configuration_url",
  "connections",
  "hw_version",
  "identifiers",
  "manufacturer",
  "model",
  "model_id",
  "name",
  "serial_number",
  "suggested_area",
  "sw_version",
  "via_device",
];
const ORIGIN = ["name", "sw_version", "support_url"];
/** Options of every entity: the common ones, and those of a platform that reads a topic. */
const COMMON = [
  "availability",
  "availability_mode",
  "availability_template",
  "availability_topic",
  "default_entity_id",
  "enabled_by_default",
  "encoding",
  "entity_category",
  "entity_picture",
  "icon",
  "json_attributes_template",
  "json_attributes_topic",
  "name",
  "payload_available",
  "payload_not_available",
  "platform",
  "qos",
  "state_topic",
  "unique_id",
  "value_template",
];
/** What home-assistant.io/integrations/{binary_sensor,select,sensor,switch}.mqtt lists beside that, and what is required. */
const PLATFORMS: Record<string, { required: string[]; more: string[] }> = {
  binary_sensor: {
    required: ["state_topic"],
    more: ["device_class", "expire_after", "force_update", "off_delay", "payload_off", "payload_on"],
  },
  select: {
    required: ["command_topic", "options"],
    more: ["command_template", "command_topic", "optimistic", "options", "retain"],
  },
  sensor: {
    required: ["state_topic"],
    more: [
      "device_class",
      "expire_after",
      "force_update",
      "last_reset_value_template",
      "options",
      "state_class",
      "suggested_display_precision",
      "unit_of_measurement",
    ],
  },
  switch: {
    required: ["command_topic"],
    more: [
      "command_template",
      "command_topic",
      "device_class",
      "optimistic",
      "payload_off",
      "payload_on",
      "retain",
      "state_off",
      "state_on",
    ],
  },
};
/** Those that are used, of home-assistant.io/integrations/sensor and /binary_sensor, "Device class"; each with its units. */
const SENSOR_CLASSES: Record<string, string[] | null> = {
  data_rate: ["Mbit/s"],
  data_size: ["MB"],
  duration: ["ms"],
  enum: null,
  timestamp: null,
};
/** They need no class. */
const PLAIN_UNITS: unknown[] = [undefined, "%"];
const BINARY_CLASSES = ["connectivity", "problem"];
/** home-assistant.io/integrations/mqtt, "Discovery topic". */
const TOPIC = /^homeassistant\/device\/[a-zA-Z0-9_-]+\/config$/;

// biome-ignore lint/suspicious/noExplicitAny: what was published is for the test to judge
type Json = any;

/** The faults of a discovery payload, as Home Assistant would see it. */
function faultsOf(topic: string, payload: Json): string[] {
  const faults: string[] = [];
  const only = (what: string, value: object, allowed: readonly string[]) => {
    for (const key of Object.keys(value)) if (!allowed.includes(key)) faults.push(`${what}: unknown ${key}`);
  };
  const needs = (what: string, value: object, required: readonly string[]) => {
    for (const key of required) if (!(key in value)) faults.push(`${what}: ${key} is missing`);
  };
  if (!TOPIC.test(topic)) faults.push(`topic: ${topic}`);
  only("root", payload, [...ROOT.required, ...ROOT.optional]);
  needs("root", payload, ROOT.required);
  only("device", payload.device, DEVICE);
  needs("device", payload.device, ["identifiers"]);
  only("origin", payload.origin, ORIGIN);
  needs("origin", payload.origin, ["name"]);
  new URL(payload.device.configuration_url);
  for (const [part, { platform, ...options }] of Object.entries<Json>(payload.components)) {
    const rules = PLATFORMS[platform];
    if (rules === undefined) faults.push(`${part}: unknown platform ${platform}`);
    // Without options it is removed.
    if (rules === undefined || Object.keys(options).length === 0) continue;
    only(part, options, [...COMMON, ...rules.more]);
    needs(part, options, ["unique_id", ...rules.required]);
    faults.push(...classFaults(part, { platform, ...options }));
  }
  return faults;
}

function classFaults(part: string, options: Json): string[] {
  const { platform, device_class: kind, state_class, unit_of_measurement: unit } = options;
  if (kind === undefined) return PLAIN_UNITS.includes(unit) ? [] : [`${part}: a unit without a class`];
  if (platform === "binary_sensor") return BINARY_CLASSES.includes(kind) ? [] : [`${part}: class ${kind}`];
  if (platform !== "sensor" || !(kind in SENSOR_CLASSES)) return [`${part}: class ${kind}`];
  const units = SENSOR_CLASSES[kind];
  if (units != null && !units.includes(unit)) return [`${part}: unit ${unit}`];
  if (units === null && (unit !== undefined || state_class !== undefined)) return [`${part}: has no unit`];
  return kind === "enum" && !Array.isArray(options.options) ? [`${part}: no options`] : [];
}

test("positive control: the check sees what Home Assistant would refuse", () => {
  const good = {
    device: { identifiers: ["x"], configuration_url: "http://x/" },
    origin: { name: "x" },
    components: {},
  };
  expect(faultsOf("homeassistant/device/x/config", good)).toEqual([]);
  const bad = {
    ...good,
    origin: {},
    extra: 1,
    components: { a: { platform: "sensor", name: "A", object_id: "a" } },
  };
  expect(faultsOf("homeassistant/device/ä/config", bad)).toEqual([
    "topic: homeassistant/device/ä/config",
    "root: unknown extra",
    "origin: name is missing",
    "a: unknown object_id",
    "a: unique_id is missing",
    "a: state_topic is missing",
  ]);
});

const MAIN = "homeassistant/device/portcullis_pi_tunnel_main/config";
const TV = "homeassistant/device/portcullis_pi_device_02-00-00-00-00-20/config";
const LIST = "homeassistant/device/portcullis_pi_list_b587d5591120/config";
const GATEWAY = "homeassistant/device/portcullis_pi_gateway/config";

describe.each(["off", "on"] as const)("with --mqtt-commands %s", (mqttCommands) => {
  let shown: Shown;
  let discovery: [string, Json][];
  beforeAll(async () => {
    shown = await Shown.start({ mqttCommands });
    await shown.home.parts.blockLists.put({ lists: [{ url: "https://lists.example/ads.txt" }] });
    const rate = { down: 20, up: 5 };
    const quota = { megabytes: 500, every: "day" } as const;
    const { devices } = shown.home.parts;
    await devices.assign("02:00:00:00:00:20", { name: 'TV "{{ 1 }}"', rate, quota });
    await devices.setSharedRate(rate);
    await devices.setSharedQuota(quota);
    await shown.home.parts.connects.connect({ server: "se-1" }, "tv");
    await shown.until(
      () =>
        shown.broker.retained.has(TV) &&
        shown.broker.retained.has("portcullis/pi/gateway/quota") &&
        shown.broker.json("portcullis/pi/tunnel/tv/state")?.state === "connected",
    );
    discovery = [...shown.broker.retained.keys()].flatMap((topic) =>
      topic.startsWith("homeassistant/") ? [[topic, shown.broker.json(topic)] as [string, Json]] : [],
    );
  });
  afterAll(() => shown.stop());

  test("every payload fits Home Assistant's schema", () => {
    expect(discovery.map(([topic]) => topic).sort()).toEqual([
      ...[TV, GATEWAY, LIST, MAIN, MAIN.replace("main", "tv")],
    ]);
    expect(discovery.flatMap(([topic, payload]) => faultsOf(topic, payload))).toEqual([]);
  });

  test("unique ids are unique, and each topic that is read is published", () => {
    const all = discovery
      .flatMap(([, { components }]) => Object.values<Json>(components))
      .filter(({ unique_id }) => unique_id);
    expect(new Set(all.map(({ unique_id }) => unique_id)).size).toBe(all.length);
    const read = all.flatMap(({ state_topic, json_attributes_topic: more }) =>
      more ? [state_topic, more] : [state_topic],
    );
    expect([...new Set(read)].filter((topic) => !shown.broker.retained.has(topic))).toEqual([]);
  });

  test("what a template reads is in the JSON", () => {
    for (const [, { components }] of discovery)
      for (const { value_template, state_topic } of Object.values<Json>(components).filter(
        ({ name }) => name !== undefined,
      )) {
        const [, field] = /value_json\.(\w+)/.exec(value_template) ?? [];
        expect(Object.keys(shown.broker.json(state_topic))).toContain(field ?? "");
      }
  });

  test("a select's state is one of its options, or none", () => {
    for (const [, { components }] of discovery)
      for (const { options, state_topic, value_template, platform } of Object.values<Json>(components)) {
        if (platform !== "select" || options === undefined) continue;
        const value = shown.broker.json(state_topic)[/value_json\.(\w+)/.exec(value_template)?.[1] ?? ""];
        expect([...options, null]).toContain(value);
      }
  });

  test("there are command topics only if commands are allowed, and each is understood", () => {
    const topics = discovery
      .flatMap(([, { components }]) => Object.values<Json>(components))
      .flatMap(({ command_topic }) => command_topic ?? []);
    expect(topics.sort()).toEqual(
      mqttCommands === "off"
        ? []
        : [
            "portcullis/pi/device/02-00-00-00-00-20/exit/set",
            "portcullis/pi/gateway/block_lists/set",
            "portcullis/pi/gateway/exit/set",
            "portcullis/pi/list/b587d5591120/on/set",
            "portcullis/pi/tunnel/main/connection/set",
            "portcullis/pi/tunnel/main/server/set",
          ],
    );
    for (const topic of topics) expect(commandIn("pi", topic)).not.toBeNull();
  });
});

test("the discovery of a device, word for word", async () => {
  const shown = await Shown.start({ mqttCommands: "on" });
  await shown.home.parts.devices.assign("02:00:00:00:00:20", { name: "TV" });
  await shown.until(() => shown.broker.retained.has(TV));
  const state_topic = "portcullis/pi/device/02-00-00-00-00-20/state";
  expect(shown.broker.json(TV)).toEqual({
    device: {
      identifiers: ["portcullis_pi_device_02-00-00-00-00-20"],
      name: "TV",
      manufacturer: "Portcullis",
      model: "device of the LAN",
      configuration_url: "http://pi.local:5000/",
      via_device: "portcullis_pi_gateway",
    },
    origin: { name: "Portcullis", sw_version: version },
    availability_topic: "portcullis/pi/availability",
    components: {
      exit: { platform: "sensor" },
      exit_choice: {
        unique_id: "portcullis_pi_device_02-00-00-00-00-20_exit_choice",
        platform: "select",
        name: "Exit",
        options: ["main", "blocked"],
        value_template: "{{ value_json.exit }}",
        icon: "mdi:exit-run",
        state_topic,
        command_topic: "portcullis/pi/device/02-00-00-00-00-20/exit/set",
      },
      // It has no limit and no quota, and the gateway answers no DNS queries.
      rate_down: { platform: "sensor" },
      rate_up: { platform: "sensor" },
      quota_used: { platform: "sensor" },
      quota_left: { platform: "sensor" },
      dns_asked: { platform: "sensor" },
      dns_blocked: { platform: "sensor" },
    },
  });
  await shown.stop();
});

test("a remote device is one as others are, says so, and its exit can be chosen", () => {
  const phone = { id: "10.129.58.2/32", name: "phone", named: true, assigned: false, exit: "main" };
  const [known] = knownDevices([{ ...phone, kind: "remote" } as Device]);
  expect(known && deviceThing(known, undefined, null, ["main", "blocked"])).toMatchObject({
    ...{ key: "device/10-129-58-2-32", name: "phone", model: "device away from home" },
    states: { state: { exit: "main" } },
  });
  expect(commandIn("pi", `portcullis/pi/${deviceKey(phone.id)}/exit/set`)).toEqual({
    ...{ key: "device/10-129-58-2-32", command: "exit" },
  } as never);
});

test("what has a name, an exit, a rate or a quota is shown, and no stranger is", () => {
  const stranger = { named: false, assigned: false, exit: "main" } as Device;
  const rate = { down: 1, up: null };
  const quota = { megabytes: 1, every: "day", at_end: "told", used_bytes: 0 } as const;
  const shown = [{ named: true }, { assigned: true }, { rate }, { quota }].map((each) => ({
    ...stranger,
    ...each,
  }));
  expect(knownDevices([stranger, ...shown])).toEqual(shown);
});

/** A provider with this many servers in each of so many cities. */
function treeOf(countries: number, cities: number, servers: number): ServerTree {
  const record = (hostname: string) => ({
    hostname,
    ipv4: "",
    type: "WireGuard" as const,
    provider: "Managed",
  });
  const range = (count: number) => Array.from({ length: count }, (_, index) => index);
  return Object.fromEntries(
    range(countries).map((country) => [
      `Country ${country}`,
      Object.fromEntries(
        range(cities).map((city) => [
          `City ${city}`,
          range(servers).map((server) => record(`s-${country}-${city}-${server}`)),
        ]),
      ),
    ]),
  );
}

test("few servers are all offered, many are not: then their places, and never more than 200", () => {
  const from = (servers: ServerTree, favourites: string[] = []) =>
    destinationsOf({
      servers,
      provider: "managed",
      favourites: favourites.map((server) => ({ provider: "managed", server })),
      wanted: null,
    });
  expect(from(treeOf(1, 2, 1))).toEqual(["Country 0", "s-0-0-0", "s-0-1-0"]);
  expect(from(treeOf(2, 1, 100), ["s-0-0-7"])).toEqual([
    "City 0, Country 0",
    "City 0, Country 1",
    "Country 0",
    "Country 1",
    "s-0-0-7",
  ]);
  const many = from(treeOf(90, 9, 10), ["s-0-0-7"]);
  expect(many).toHaveLength(200);
  expect(many).toContain("s-0-0-7");
  expect(many.filter((name) => /^Country/.test(name))).toHaveLength(90);
  expect(from({ Unknown: { Unknown: [] } })).toEqual([]);
});

test("a broker's address has a port, a user and an encryption of its own or the usual ones", () => {
  expect(brokerIn("mqtt://ha%40home@192.168.1.10")).toEqual({
    tls: false,
    host: "192.168.1.10",
    port: 1883,
    user: "ha@home",
  });
  expect(brokerIn("mqtts://[fd00::10]:8884/")).toEqual({
    tls: true,
    host: "fd00::10",
    port: 8884,
    user: null,
  });
  expect(brokerIn("mqtts://Home.local").port).toBe(8883);
});

test("an address of the LAN or of this machine needs no tunnel, and any other one that leads there", async () => {
  const lans = [mustParsePrefix("192.168.7.0/24"), mustParsePrefix("fd00::/64")];
  const from = mustParseAddress("10.64.0.2");
  const ways = (leadsTo: string | null) =>
    ["192.168.7.9", "fd00::9", "127.0.0.1", "::1", "192.168.8.9", "192.0.2.9"].map((text) =>
      wayTo(mustParseAddress(text), lans, (address) => (address === leadsTo ? from : null)),
    );
  expect(ways(null)).toEqual(["LAN", "LAN", "LAN", "LAN", null, null]);
  expect(ways("192.0.2.9")).toEqual(["LAN", "LAN", "LAN", "LAN", null, { from }]);
  expect(await addressesOf("::ffff:192.168.7.9")).toEqual([mustParseAddress("192.168.7.9")]);
});

test.each(["mqtt", "mqtts"])(
  "in a tunnel, a connection by %s has the tunnel's address, and there is none without it",
  async (scheme) => {
    const seen = Promise.withResolvers<string | undefined>();
    const server = createServer((socket) => {
      seen.resolve(socket.remoteAddress);
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const will = { topic: "x", payload: "offline" };
    const certified = scheme === "mqtt" ? null : "broker.example";
    const broker = { address: "127.0.0.1", port, certified, authority: null, clientId: "x", will };
    const open = (from: string) => socketTo({ ...broker, from, user: null, password: null });
    open("127.0.0.9").on("error", () => {});
    expect(await seen.promise).toBe("127.0.0.9");
    const { promise: failed, resolve } = Promise.withResolvers<unknown>();
    open("192.0.2.9").on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    expect(await failed).toBe("EADDRNOTAVAIL");
    await new Promise<void>((done) => server.close(() => done()));
  },
);

test("names and ids are such as a topic may have", () => {
  expect(idOf("Haus_Küche.lan")).toBe("haus-k-che-lan");
  expect(deviceKey("2001:db8::/64")).toBe("device/2001-db8---64");
});

test("no two networks share a topic, whatever their interfaces are called", () => {
  const links = ["eth0.20", "eth0-20", "eth0_20", "eth0--20", "eth0-_20", "eth0._20", "eth0-.20", "eth0.-20"];
  const keys = links.map(networkKey);
  expect(new Set(keys).size).toBe(links.length);
  expect(keys.filter((key) => !/^network\/[a-zA-Z0-9_-]+$/.test(key))).toEqual([]);
});
