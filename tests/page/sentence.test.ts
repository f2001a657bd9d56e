import { expect, test } from "bun:test";
import { type Known, type Sentence, sentenceOf } from "../../src/dashboard/sentence.ts";
import type { Destination } from "../../src/destinations/schema.ts";
import type { Device } from "../../src/devices/schema.ts";
import type { Status, TunnelRow } from "../../src/tunnel/schema.ts";

const STATUS: Status = {
  connected: true,
  provider: "managed",
  server: "se-1",
  ip: "192.0.2.1",
  location: "Stockholm, Sweden",
  uptime: "0h 1m",
  killswitch_active: true,
  state: "connected",
  uptime_seconds: 60,
  latest_handshake: null,
  rx_bytes: 0,
  tx_bytes: 0,
  error: null,
  mtu: 1420,
  unanswered: false,
  direct_devices: 0,
  direct_destinations: 0,
  // The page judges by what it knows itself.
  verdict: { name: "unknown", title: "", text: "", why: null },
};
const STOCKHOLM = { server: "se-1", location: "Stockholm, Sweden" };
const NOTHING = { connected: false, state: "disconnected", server: "", location: "" } as const;

function tunnel(name: string, location: string, change: Partial<TunnelRow> = {}): TunnelRow {
  const { uptime_seconds, latest_handshake, rx_bytes, tx_bytes, error, mtu, ip } = STATUS;
  const figures = { uptime_seconds, latest_handshake, rx_bytes, tx_bytes, error, mtu, ip, devices: 1 };
  const server = `${name}-server`;
  return {
    name,
    provider: "managed",
    server,
    wanted: server,
    state: "connected",
    location,
    unanswered: false,
    ...figures,
    ...change,
  };
}

function device(exit: string): Device {
  const seen = { interface: "lan0", online: true, seen_at: null, rx_bytes: 0, tx_bytes: 1, addresses: [] };
  return { id: exit, name: "", exit, assigned: false, ...seen } as unknown as Device;
}

function silent(list: Known["devices"]): Known["devices"] {
  return list && { ...list, devices: list.devices.map((each) => ({ ...each, tx_bytes: 0 })) };
}

function rule(change: Partial<Destination>): Destination {
  const whole = {
    id: "3f9a1c",
    names: [],
    prefixes: ["203.0.113.0/24"],
    devices: [],
    note: "",
    warning: null,
  };
  return { ...whole, exit: "main", open: true, addresses: 0, ...change };
}

function known(change: Partial<Known> & { exits?: string[]; standard?: string }): Known {
  const { exits = ["main"], standard = "main", ...rest } = change;
  const devices = { devices: exits.map(device), default_exit: standard, exits, direct_allowed: false };
  return {
    connection: { name: "live" },
    status: STATUS,
    tunnels: [tunnel("main", "Stockholm, Sweden")],
    devices,
    killswitch: killswitch(true, true),
    network: { hostname: "pi", lan: [], uplink: "eth0", online: true, dhcp: false, other_routers: [] },
    destinations: [],
    ...rest,
  };
}

function killswitch(firewall: boolean, routing: boolean, wanted = true): NonNullable<Known["killswitch"]> {
  const layers = [
    { name: "firewall" as const, holds: firewall, parts: [] },
    { name: "routing" as const, holds: routing, parts: [] },
  ];
  return { active: firewall, wanted, layers, direct_devices: 0, error: null };
}

const said = ({ title, text }: Sentence) => `${title}. ${text}`;

// What each state of a gateway is called, on every surface: tests/http/verdict.test.ts. Here is what the page knows besides, or
// not yet, and what its facts can be that a gateway in one home is not.
const CASES: [name: string, known: Known, said: string][] = [
  [
    "two hops",
    known({ tunnels: [tunnel("main", "Stockholm, Sweden", { via: "nl-1", wanted_via: "nl-1" })] }),
    "Protected. Everything at home goes through Stockholm, Sweden, via nl-1.",
  ],
  [
    "two hops that do not answer",
    known({
      status: { ...STATUS, ...NOTHING, state: "reconnecting" },
      tunnels: [tunnel("main", "", { state: "reconnecting", wanted: "Sweden", wanted_via: "nl-1" })],
    }),
    "Blocked. Nothing leaves: Sweden via nl-1 does not answer. The gateway keeps trying.",
  ],
  ["everything by one tunnel", known({}), "Protected. Everything at home goes through Stockholm, Sweden."],
  [
    "two tunnels",
    known({
      exits: ["main", "tv"],
      tunnels: [tunnel("main", "Stockholm, Sweden"), tunnel("tv", "Oslo, Norway")],
    }),
    "Protected. Everything at home goes through Stockholm and Oslo.",
  ],
  [
    "new devices wait",
    known({ standard: "blocked" }),
    "Protected. Everything that is not blocked goes through Stockholm, Sweden.",
  ],
  [
    "a direct device",
    known({ killswitch: { ...killswitch(true, true), direct_devices: 1 } }),
    "Protected, with exceptions. 1 device leaves outside the tunnels, as allowed on the gateway. Everything else goes through Stockholm, Sweden.",
  ],
  [
    "a direct destination",
    known({
      destinations: [rule({ exit: "direct" }), rule({ exit: "blocked", prefixes: ["192.0.2.0/24"] })],
    }),
    "Protected, with exceptions. Traffic to 203.0.113.0/24 leaves outside the tunnels, as allowed on the gateway. Everything else goes through Stockholm, Sweden.",
  ],
  [
    "a name that is direct",
    known({ destinations: [rule({ exit: "direct", names: ["bank.example"], prefixes: [] })] }),
    "Protected, with exceptions. Traffic to bank.example leaves outside the tunnels, as allowed on the gateway. Everything else goes through Stockholm, Sweden.",
  ],
  [
    "a direct destination while the uplink is down",
    known({ destinations: [rule({ exit: "direct", open: false })] }),
    "Protected. Everything at home goes through Stockholm, Sweden.",
  ],
  [
    "a direct device and a direct destination, without a tunnel",
    known({
      status: { ...STATUS, ...NOTHING },
      tunnels: [tunnel("main", "", { state: "disconnected", wanted: null })],
      killswitch: { ...killswitch(true, true), direct_devices: 1 },
      destinations: [rule({ exit: "direct" })],
    }),
    "Blocked, with exceptions. 1 device leaves outside the tunnels, as allowed on the gateway, and so does traffic to 203.0.113.0/24. Nothing else leaves: there is no tunnel.",
  ],
  [
    "a direct device and a blocked one",
    known({
      exits: ["main", "direct", "blocked"],
      killswitch: { ...killswitch(true, true), direct_devices: 1 },
    }),
    "Protected, with exceptions. 1 device leaves outside the tunnels, as allowed on the gateway. Everything else that is not blocked goes through Stockholm, Sweden.",
  ],
  [
    "no tunnel, and a direct device",
    known({
      status: { ...STATUS, ...NOTHING },
      tunnels: [tunnel("main", "", { state: "disconnected", wanted: null })],
      killswitch: { ...killswitch(true, true), direct_devices: 1 },
    }),
    "Blocked, with exceptions. 1 device leaves outside the tunnels, as allowed on the gateway. Nothing else leaves: there is no tunnel.",
  ],
  [
    "every device blocked or direct",
    known({
      exits: ["blocked", "direct"],
      standard: "blocked",
      killswitch: { ...killswitch(true, true), direct_devices: 1 },
    }),
    "Blocked, with exceptions. 1 device leaves outside the tunnels, as allowed on the gateway. Nothing else leaves: the exit of every other one is “blocked”.",
  ],
  [
    "a connect under way, and a direct device",
    known({
      status: { ...STATUS, ...NOTHING, state: "connecting", direct_devices: 2 },
      tunnels: [tunnel("main", "", { state: "connecting" })],
      killswitch: { ...killswitch(true, true), direct_devices: 2 },
    }),
    "Connecting, with exceptions. 2 devices leave outside the tunnels, as allowed on the gateway. Connecting to main-server. Nothing else leaves outside a tunnel meanwhile.",
  ],
  [
    "layers that cannot be read, although the last status has the kill switch",
    known({ killswitch: null, unread: "Ip -j failed." }),
    "Not known. It is not known whether the kill switch is in place.",
  ],
  [
    "no main, another tunnel",
    known({
      status: { ...STATUS, ...NOTHING },
      exits: ["main", "tv"],
      tunnels: [tunnel("main", "", { state: "disconnected" }), tunnel("tv", "Oslo, Norway")],
    }),
    "1 device has no internet. 1 device goes through Oslo, Norway. Nothing leaves outside a tunnel.",
  ],
  [
    "no main, and another tunnel that is the default exit",
    known({
      status: { ...STATUS, ...NOTHING },
      exits: ["tv"],
      standard: "tv",
      tunnels: [tunnel("main", "", { state: "disconnected" }), tunnel("tv", "Oslo, Norway")],
    }),
    "Protected. Everything at home goes through Oslo, Norway.",
  ],
  [
    "no exit is up, although main is",
    known({
      exits: ["tv"],
      standard: "tv",
      tunnels: [tunnel("main", "Stockholm, Sweden"), tunnel("tv", "", { state: "reconnecting" })],
    }),
    "Blocked. Nothing leaves.",
  ],
  [
    "a status without the kill switch, before its layers are known",
    known({ status: { ...STATUS, killswitch_active: false }, killswitch: null }),
    "Exposed. The kill switch is not in place: traffic might leave outside the tunnel.",
  ],
  [
    "who uses the tunnel is not known yet",
    known({ devices: null }),
    "Checking. Waiting for the gateway’s answer…",
  ],
  [
    "who uses the tunnel could not be read",
    known({ devices: null, unlisted: "Nft failed." }),
    "Not known. It is not known which devices go through which tunnel.",
  ],
  [
    "a firewall that another program removed",
    known({ status: { ...STATUS, killswitch_active: false }, killswitch: killswitch(false, true) }),
    "Weakened. One of the kill switch’s two layers, the firewall, is not in place. The other one still blocks what would leave outside a tunnel.",
  ],
  [
    "a move, while the former server carries",
    known({
      status: { ...STATUS, ...NOTHING, state: "connecting", carrying: STOCKHOLM },
      tunnels: [tunnel("main", "", { server: "", state: "connecting", wanted: "nl-1", carrying: STOCKHOLM })],
    }),
    "Still through Stockholm; trying nl-1. Nothing changes until nl-1 answers. If it does not answer, nothing changes at all.",
  ],
  [
    "no device has sent anything",
    known({ devices: silent(known({}).devices) }),
    "Connected. The tunnel to Stockholm, Sweden is up. No device uses it yet.",
  ],
  [
    "no device had sent anything when the list was read, and one has since",
    known({ devices: silent(known({}).devices), haveSent: true }),
    "Protected. Everything at home goes through Stockholm, Sweden.",
  ],
  [
    "the kill switch's routing is not known yet",
    known({ killswitch: null }),
    "Checking. Waiting for the gateway’s answer…",
  ],
  ["nothing is known yet", known({ status: null }), "Checking. Waiting for the gateway’s answer…"],
];

test.each(CASES)("%s", (_, each, text) => {
  expect(said(sentenceOf(each))).toBe(text);
});

test("after a loss, nothing that was known is said", () => {
  const { title, text } = sentenceOf(known({ connection: { name: "lost", since: Date.now() } }));
  expect(title).toBe("No answer");
  expect(text).toStartWith("The gateway has not answered since ");
});

test("a tunnel that no device uses yet is ready, and waits for nothing", () => {
  expect(sentenceOf(known({ exits: [] })).tone).toBe("ready");
});

test("an uplink that is down comes before what it makes fail", () => {
  const status = { ...STATUS, ...NOTHING, state: "failed", error: "se-1 did not answer" } as const;
  const network = { hostname: "pi", lan: [], uplink: "eth0", online: false, dhcp: false, other_routers: [] };
  expect(sentenceOf(known({ status, network })).why).toBe(
    "The uplink is down: look at its cable and at the home router.",
  );
  expect(sentenceOf(known({ status })).why).toBe("se-1 did not answer.");
});

test("if exits were lost, the page says why the default exit is blocked", () => {
  const status = { ...STATUS, error: "The exits of devices were lost with the database." };
  expect(sentenceOf(known({ status, standard: "blocked" })).why).toBe(status.error);
  expect(sentenceOf(known({ status, exits: ["blocked"], standard: "blocked" })).why).toBe(status.error);
  expect(sentenceOf(known({ status })).why).toBeNull();
});

test("a tunnel that carries nothing protects, and says to try another server", () => {
  const error = "main-server answers handshakes, but nothing else comes back through it";
  const main = tunnel("main", "Amsterdam, Netherlands", { unanswered: true, error });
  const status: Status = { ...STATUS, location: "Amsterdam, Netherlands", unanswered: true, error };
  const expected: Sentence = {
    tone: "partly",
    title: "No data gets through",
    text: "Protected, but no data gets through Amsterdam. Try another server.",
    why: "main-server answers handshakes, but nothing else comes back through it.",
    help: "another",
  };
  expect(sentenceOf(known({ status, tunnels: [main] }))).toEqual(expected);
  const tv = tunnel("tv", "Oslo, Norway", { unanswered: true });
  const beside = known({ exits: ["main", "tv"], tunnels: [tunnel("main", "Stockholm, Sweden"), tv] });
  expect(sentenceOf(beside)).toMatchObject({
    tone: "partly",
    short: "1 without internet",
    why: "The tunnel tv carries no data: 1 device has no internet.",
  });
});

test("after a connect that failed, the page says that nothing has changed, and why", () => {
  const main = tunnel("main", "Stockholm, Sweden", { error: "nl-1 did not answer" });
  expect(sentenceOf(known({ tunnels: [main] }))).toMatchObject({
    tone: "protected",
    why: "The last connect failed, and nothing has changed. nl-1 did not answer.",
  });
});

test("until the page knows what decides, it says what the gateway has written into it; then it judges by itself", () => {
  const served: Sentence = {
    tone: "protected",
    title: "Protected",
    text: "As it was.",
    why: null,
    help: null,
  };
  for (const lacking of ["status", "killswitch", "tunnels", "devices"] as const)
    expect([lacking, sentenceOf({ ...known({}), served, [lacking]: null })]).toEqual([lacking, served]);
  expect(sentenceOf({ ...known({}), served }).text).not.toBe(served.text);
  const lost = { ...known({}), connection: { name: "lost", since: 0 } } as const;
  expect(sentenceOf(lost).title).toBe("No answer");
  // It is asked for the page again, and answers.
  expect(sentenceOf({ ...lost, served })).toEqual(served);
  expect(sentenceOf({ ...known({}), served: null, status: null }).title).toBe("Checking");
});
