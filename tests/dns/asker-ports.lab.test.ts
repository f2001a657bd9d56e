import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Prefix } from "../../src/base/address.ts";
import type { Mac } from "../../src/base/mac.ts";
import { AskerPorts, RESOLVER_PORT } from "../../src/dns/asker-ports.ts";
import { questionIn } from "../../src/dns/question.ts";
import { OTHERS } from "../../src/dns/resolver.ts";
import { mergedPolicy, type Policy, type PolicyPart } from "../../src/killswitch/policy.ts";
import { openRulesetOf, rulesetOf } from "../../src/killswitch/ruleset.ts";
import { inNamespace } from "../../src/sandbox/namespace.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { cidr, ips } from "../fake/address.ts";
import { assigned, LAN_ROUTES, NETWORK } from "../killswitch/example.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { inject } from "../rig/tools/injector.ts";
import { datagramFrame } from "../rig/tools/packet.ts";
import { query } from "./messages.ts";

const [GATEWAY, HOME] = [`ag${process.pid}`, `ah${process.pid}`];
const machine = new LinuxHost();
const gateway = new NamespaceHost(GATEWAY);
const OWN = ips("192.168.7.1", "fd00:7::1");
const GATEWAY_MAC = "02:00:00:00:00:aa";

/** One that people have decided about, one that has a port, a router, and one that nobody knows. */
const [TV, PHONE, ROUTER, STRANGER] = ["03", "09", "20", "66"].map((end) => `02:00:00:00:00:${end}` as Mac);
const BEHIND = cidr("10.8.0.0/16");
const ADDRESSES: Record<string, string> = {
  tv: "192.168.7.3",
  phone: "192.168.7.9",
  phone6: "fd00:7::9",
  nobody: "192.168.7.99",
  nobody6: "fd00:7::99",
  behind: "10.8.0.5",
  road: "10.200.7.2",
};
/** In the place of WireGuard's interface. */
const ROAD = "wgr";
/** To anybody, to the gateway, and over IPv6. */
const RESOLVERS = ["9.9.9.9", "192.168.7.1", "2001:db8::53", "fd00:7::1"];

let asked: string[] = [];
const ports = new AskerPorts(
  {
    answer: async (message, device) => {
      asked.push(`${questionIn(message)?.name} is of ${device}`);
      return null;
    },
  },
  (error) => {
    throw error;
  },
);
const portOf = (id: Mac | Prefix) => ports.open.get(id) ?? null;

beforeAll(async () => {
  for (const name of [GATEWAY, HOME]) await machine.run(["ip", "netns", "add", name]);
  for (const link of ["lan0", ROAD]) {
    const cable = `link add ${link} address ${GATEWAY_MAC} netns ${GATEWAY} type veth peer name ${link} netns ${HOME}`;
    await machine.run(["ip", ...cable.split(" ")]);
    await machine.run(["ip", "-n", HOME, "link", "set", link, "up"]);
  }
  const lines = ["link set lo up", "link set lan0 up", "address add 192.168.7.1/24 dev lan0"];
  lines.push(`link set ${ROAD} up`, `address add 10.200.7.1/24 dev ${ROAD}`);
  lines.push("address add fd00:7::1/64 dev lan0 nodad", "route add 10.8.0.0/16 via 192.168.7.20");
  await machine.run(["ip", "-n", GATEWAY, "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
  for (const id of [OTHERS, PHONE, TV, BEHIND])
    if (id !== undefined) await inNamespace(GATEWAY, () => ports.openFor([id], OWN));
  await load(rulesetOf(policy()));
});
beforeEach(async () => {
  asked = [];
  await load(rulesetOf(policy()));
});
afterAll(async () => {
  await ports.close();
  for (const name of [GATEWAY, HOME]) await machine.run(["ip", "netns", "del", name]).catch(() => {});
});

function policy(): Policy {
  const askers = ([PHONE, TV] as Mac[]).map((id) => ({ id, port: portOf(id), routers: [] }));
  const road = cidr("10.200.7.2/32");
  const device = { id: road, addresses: ips("10.200.7.2"), lan: true };
  const parts: [string, PolicyPart][] = [
    [
      "the road",
      {
        remote: {
          ...{ interface: ROAD, port: 51_820, through: null, addresses: ips("10.200.7.1") },
          ...{ networks: [cidr("10.200.7.0/24")], devices: [device] },
        },
      },
    ],
    [
      "DEVICES",
      { devices: [assigned(TV ?? "", "blocked")], routed: [{ prefix: BEHIND, exit: { to: "blocked" } }] },
    ],
    [
      "the resolver",
      {
        resolver: {
          port: RESOLVER_PORT,
          askers: [...askers, { id: BEHIND, port: portOf(BEHIND), routers: [ROUTER as Mac] }],
        },
      },
    ],
  ];
  return mergedPolicy(new Map(parts), { ...NETWORK, addresses: OWN, lanRoutes: LAN_ROUTES });
}

async function load(text: string): Promise<void> {
  await gateway.run(["nft", "-f", "-"], { stdin: text });
}

interface Sent {
  mac?: Mac | undefined;
  from: string;
  to?: string;
  port?: number;
  sourcePort?: number;
  link?: string;
}

let count = 0;

/** Sends a question from each, one after another; returns by whom each was asked that arrived at the resolver. */
async function send(...all: Sent[]): Promise<Record<string, string>> {
  asked = [];
  const frames = all.map(({ mac = STRANGER, from, to, port = 53, sourcePort }, index) => {
    const source = ADDRESSES[from] ?? from;
    const [target = ""] =
      to === undefined ? RESOLVERS.filter((each) => each.includes(":") === source.includes(":")) : [to];
    count += 1;
    return datagramFrame({
      ...{ fromMac: (mac ?? "").replaceAll(":", ""), toMac: GATEWAY_MAC.replaceAll(":", "") },
      ...{ from: source, to: target, sourcePort: sourcePort ?? 20_000 + count, targetPort: port },
      payload: query(`q${index}.example`),
    });
  });
  await inject(HOME, all[0]?.link ?? "lan0", frames);
  await Bun.sleep(50);
  return Object.fromEntries(
    all.map((_, index) => {
      const own = asked.filter((each) => each.startsWith(`q${index}.example `));
      return [`q${index}`, own.map((each) => each.split(" ").at(-1)).join() || "nobody"];
    }),
  );
}

test("a question is that of the device with its MAC address, whatever source address it has", async () => {
  const everywhere = Object.keys(ADDRESSES).filter((from) => !["behind", "road"].includes(from));
  for (const mac of [TV, PHONE, STRANGER] as Mac[]) {
    const sent = everywhere.flatMap((from) =>
      RESOLVERS.filter((to) => to.includes(":") === ADDRESSES[from]?.includes(":")).map((to) => ({
        mac,
        from,
        to,
      })),
    );
    const outcomes = await send(...sent);
    expect([mac, ...new Set(Object.values(outcomes))]).toEqual([mac, mac === STRANGER ? OTHERS : mac]);
  }
});

test("a whole connection that is forged is not that of the device that has begun it", async () => {
  const same = { from: "phone", sourcePort: 4_000 };
  const turns = [PHONE, TV, PHONE, STRANGER, TV];
  const outcomes = await send(...turns.map((mac) => ({ ...same, mac })));
  expect(Object.values(outcomes)).toEqual(turns.map((mac) => (mac === STRANGER ? OTHERS : mac)) as string[]);
});

test("what comes from a network counts if its router has sent it, and is refused otherwise", async () => {
  const outcomes = await send(...[ROUTER, TV, STRANGER].map((mac) => ({ mac, from: "behind" })));
  expect(Object.values(outcomes)).toEqual([BEHIND, "nobody", "nobody"]);
});

test("nobody asks at a port of the resolver itself, from the LAN or the road, with the kill switch or without", async () => {
  const all = [...ports.open.values()].flatMap((port) => [
    { mac: TV, from: "tv", to: "192.168.7.1", port },
    { mac: TV, from: "phone", to: "192.168.7.1", port },
    { mac: STRANGER, from: "phone6", to: "fd00:7::1", port },
  ]);
  const fromRoad = [...ports.open.values()].map((port) => ({
    from: "road",
    to: "192.168.7.1",
    port,
    link: ROAD,
  }));
  for (const text of [openRulesetOf(policy()), rulesetOf(policy())]) {
    await load(text);
    expect([...new Set(Object.values(await send(...all)))]).toEqual(["nobody"]);
    expect(Object.values(await send(...fromRoad))).toEqual(fromRoad.map(() => "nobody"));
  }
  // The control: without these rules, they arrive.
  await gateway.run(["nft", "flush", "chain", "inet", "portcullis", "own_resolver"]);
  for (const each of [all, fromRoad]) expect(Object.values(await send(...each))).not.toContain("nobody");
});

test("a device about which something is decided is refused while the map does not have it", async () => {
  const asking = () => send({ mac: TV, from: "tv" }, { mac: TV, from: "nobody" }, { mac: PHONE, from: "tv" });
  expect(Object.values(await asking())).toEqual([TV, TV, PHONE] as string[]);
  const [table, set, type] = ["portcullis", "asker_zones", "ether saddr : ct original zone"] as const;
  const elements = [`${TV} : ${portOf(TV as Mac)}`];
  await gateway.changeElements([{ verb: "delete", table, set, type, elements }]);
  expect(Object.values(await asking())).toEqual(["nobody", "nobody", PHONE] as string[]);
  await gateway.changeElements([{ verb: "add", table, set, type, elements }]);
  expect(Object.values(await asking())).toEqual([TV, TV, PHONE] as string[]);
  // If the set was emptied, nobody knows who is a stranger.
  await gateway.run(["nft", "flush", "set", "inet", "portcullis", "askers"]);
  expect(Object.values(await send({ from: "nobody" }))).toEqual(["nobody"]);
});
