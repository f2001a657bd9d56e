import { describe, expect, test } from "bun:test";
import { checkedContents, contentsOf } from "../../src/backup/contents.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { Store } from "../../src/store/store.ts";
import { slow } from "../fast.ts";
import { NOW, PRIVATE, SERVER } from "../servers/example.ts";
import { inDirectory } from "../tunnel/directory.ts";

const CONNECTION = JSON.stringify({ provider: "custom", name: "home", since: 1 });
const ACCOUNT = JSON.stringify({
  number: "1234123412341234",
  id: "11111111-1111-4111-8111-111111111111",
  name: "happy cat",
  privateKey: PRIVATE,
  addresses: ["10.64.0.2/32"],
  created: "2026-01-02T03:04:05Z",
});
const SETTINGS = {
  account: ACCOUNT,
  "address vpn.example.net": "192.0.2.1",
  connection: CONNECTION,
  default_exit: "blocked",
  destinations: '[{"id":"3f9a1c","prefixes":["203.0.113.0/24"],"devices":[],"exit":"blocked","note":""}]',
  favourites: '[{"provider":"custom","server":"home"},{"provider":"managed","server":"se-1"}]',
  schedules: '[{"name":"nightly","tunnel":"main","at":"04:00"}]',
  fixed_addresses: "02:00:00:00:00:20 192.168.7.50,02:00:00:00:00:30 192.168.7.40",
  killswitch: "off",
  provider: "custom",
};
const OFFICE = { id: "10.8.0.0/24", name: "office", exit: "blocked" };
const TV = { id: "02:00:00:00:00:20", name: "TV", exit: "amsterdam" };
const RULE = {
  ...{ id: "3f9a1c", prefixes: ["203.0.113.0/24"], devices: [] },
  ...{ exit: "blocked", note: "" },
};
const CONTENTS = {
  created: "2026-01-02T03:04:05.006Z",
  servers: [SERVER],
  settings: SETTINGS,
  devices: [TV, OFFICE],
};

test("a backup holds the servers and the settings that a restore takes, and passes its own check", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    store.insert(SERVER);
    for (const [key, value] of Object.entries(SETTINGS)) store.write(key, value);
    for (const device of [OFFICE, TV]) store.saveDevice(device);
    store.saveDevice({ id: "of a later version", name: null, exit: "blocked" });
    store.write("of a later version", "1");
    store.write("recent", '[{"provider":"custom","name":"home","since":1}]');
    store.write("address other.example.net", "damaged");
    const contents = contentsOf(store, NOW);
    expect(contents).toEqual(CONTENTS);
    expect(await checkedContents(JSON.parse(JSON.stringify(contents)))).toEqual(CONTENTS);
    store.close();
  }));

test("settings of AmneziaWG are held and taken back, and what a file may not have is refused", async () => {
  const held = (amnezia: object) => {
    const { config } = SERVER;
    const server = { ...SERVER, config: { ...config, interface: { ...config.interface, amnezia } } };
    return { ...CONTENTS, servers: [server] };
  };
  const good = held({ jc: 3, jmin: 40, jmax: 70, s1: 15, s4: 9, h1: "5-10", i2: "<b 0xc0ff><t>" });
  expect(await checkedContents(JSON.parse(JSON.stringify(good)))).toEqual(good);
  for (const wrong of [{ s4: 141 }, { jc: 1 }, { h1: "05" }, { h1: "5", h2: "5" }, { i1: "<r 1453>" }, {}])
    await expect(checkedContents(JSON.parse(JSON.stringify(held(wrong))))).rejects.toThrow();
});

slow.test("the check of many servers lets other work go on", async () => {
  const servers = Array.from({ length: 50 }, (_, index) => ({ ...SERVER, name: `server ${index}` }));
  let [turns, checking] = [0, true];
  const others = (async () => {
    for (; checking; turns++) await nextTurn();
  })();
  await checkedContents({ ...CONTENTS, servers });
  checking = false;
  await others;
  expect(turns).toBeGreaterThanOrEqual(servers.length);
});

describe("invalid contents are refused, and the message says what is wrong:", () => {
  const server = (change: object) => ({ ...CONTENTS, servers: [{ ...SERVER, ...change }] });
  const setting = (key: string, value: unknown) => ({ ...CONTENTS, settings: { [key]: value } });
  const device = (change: object) => ({ ...CONTENTS, devices: [{ ...TV, ...change }] });
  const odd = '"home" is not in the form that the gateway writes';
  const { config } = SERVER;

  test.each<[what: string, contents: unknown, why: string]>([
    ["nothing", null, "it does not match its schema"],
    ["a list", [CONTENTS], "it does not match its schema"],
    ["no servers", { ...CONTENTS, servers: undefined }, "it does not match its schema"],
    ...["", "2026-01-02", "2026-13-02T03:04:05.006Z", "2026-01-02T03:04:05.006Z\n", "x".repeat(900_000)].map(
      (created): [string, unknown, string] => [
        `a date such as ${JSON.stringify(created.slice(0, 30))}`,
        { ...CONTENTS, created },
        "it does not match its schema",
      ],
    ),
    ["a field too many", { ...CONTENTS, more: 1 }, "it does not match its schema"],
    ["a server without keys", server({ config: {} }), "it does not match its schema"],
    ["a provider that nobody knows", server({ provider: "other" }), "it does not match its schema"],
    ["a setting that is a number", setting("provider", 1), "it does not match its schema"],
    [
      "two servers of one name",
      { ...CONTENTS, servers: [SERVER, SERVER] },
      "it contains two servers of the same name",
    ],
    ["a managed server", server({ provider: "managed" }), `the server ${odd}`],
    ["a label that moves the cursor", server({ label: "a\u001b[2J" }), "it does not match its schema"],
    ["an endless location", server({ location: "x".repeat(257) }), "it does not match its schema"],
    [
      "an address in another spelling",
      server({ config: { ...config, interface: { ...config.interface, addresses: ["fd00:0::1/128"] } } }),
      `the server ${odd}`,
    ],
    ["a setting of another version", setting("colour", "red"), 'the setting "colour" is invalid'],
    ["an odd kill switch", setting("killswitch", "maybe"), 'the setting "killswitch" is invalid'],
    ["an odd provider", setting("provider", "__proto__"), 'the setting "provider" is invalid'],
    ["an odd connection", setting("connection", "{}"), 'the setting "connection" is invalid'],
    ["an odd account", setting("account", "{}"), 'the setting "account" is invalid'],
    [
      "an odd address",
      setting("fixed_addresses", `${TV.id} fd00::1`),
      'the setting "fixed_addresses" is invalid',
    ],
    [
      "an address twice",
      setting("fixed_addresses", `${TV.id} 192.168.7.5,02:00:00:00:00:30 192.168.7.5`),
      'the setting "fixed_addresses" is invalid',
    ],
    [
      "odd rules for destinations",
      setting("dns_lists", '{"lists":[{"url":"http://lists.example/"}]}'),
      'the setting "dns_lists" is invalid',
    ],
    [
      "odd rules for destinations",
      setting("destinations", '[{"id":"x"}]'),
      'the setting "destinations" is invalid',
    ],
    [
      "a rule that leads outside the tunnel",
      setting("destinations", JSON.stringify([{ ...RULE, exit: "direct" }])),
      "a rule for destinations has the exit direct, which is not allowed in it",
    ],
    ["odd schedules", setting("schedules", '[{"name":"x"}]'), 'the setting "schedules" is invalid'],
    ["odd favourites", setting("favourites", "[1]"), 'the setting "favourites" is invalid'],
    [
      "a favourite of an odd name",
      setting("favourites", '[{"provider":"managed","server":".."}]'),
      'the setting "favourites" is invalid',
    ],
    ["an odd default exit", setting("default_exit", "direct"), 'the setting "default_exit" is invalid'],
    ["a device without an id", device({ id: "tv" }), 'the device "tv" is invalid'],
    [
      "a device in another spelling",
      device({ id: "02-00-00-00-00-20" }),
      'the device "02-00-00-00-00-20" is invalid',
    ],
    ["a device with an odd exit", device({ exit: "Oslo" }), `the device "${TV.id}" is invalid`],
    ["a prefix with host bits", device({ id: "10.8.0.1/24" }), 'the device "10.8.0.1/24" is invalid'],
    ["a public prefix", device({ id: "203.0.113.0/24" }), 'the device "203.0.113.0/24" is invalid'],
    ["a device with an odd name", device({ name: "a\nb" }), `the device "${TV.id}" is invalid`],
    ["a device with neither", device({ name: null, exit: null }), `the device "${TV.id}" is invalid`],
    ["a device twice", { ...CONTENTS, devices: [TV, TV] }, "it contains a device twice"],
    [
      "an inherited name",
      JSON.parse('{"created":"2026-01-02T03:04:05.006Z","servers":[],"settings":{"constructor":"x"}}'),
      'the setting "constructor" is invalid',
    ],
    [
      "an address that is none",
      setting("address a.example", "; flush"),
      'the setting "address a.example" is invalid',
    ],
  ])("%s", async (_, contents, why) => {
    await expect(checkedContents(contents)).rejects.toThrow(
      new GatewayError("unable", `the backup is damaged: ${why}; nothing was changed`),
    );
  });

  test.each<[what: string, contents: unknown]>([
    ["a name with a slash", server({ name: "../etc" })],
    [
      "a key that ends its line",
      server({
        config: { ...config, interface: { ...config.interface, privateKey: `${PRIVATE}\nPostUp = x` } },
      }),
    ],
    [
      "a prefix out of range",
      server({ config: { ...config, peer: { ...config.peer, allowedIps: ["::/129"] } } }),
    ],
  ])("%s", async (_, contents) => {
    await expect(checkedContents(contents)).rejects.toThrow(
      /^the backup is damaged: .*; nothing was changed$/s,
    );
  });
});
