import { describe, expect, test } from "bun:test";
import type { Host } from "../../src/system/host.ts";
import { type Sighting, sightingIn, watchKernel } from "../../src/tunnel/watch.ts";
import { inNamespace } from "../firewall/namespace.ts";

const LINKS = ["wg0", "wg1"];

/** What iproute2 6.1 prints of what is done to a machine with an uplink `up0` and a tunnel `wg0`. */
type Seen = Sighting["of"];

const LINES: [meaning: Seen | null, line: string][] = [
  ["rules", "[RULE]100:\tfrom all fwmark 0x504c iif lo lookup main"],
  ["rules", "[RULE]Deleted 100:\tfrom all fwmark 0x504c iif lo lookup main"],
  ["rules", "[RULE]106:\tfrom all unreachable"],
  ["tunnel", "[LINK]4: wg0: <POINTOPOINT,MULTICAST,NOARP> mtu 1420 qdisc noop state DOWN group default "],
  [null, "[LINK]4: wg1@NONE: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu 1420 qdisc noqueue state UNKNOWN "],
  [
    "tunnel",
    "[LINK]Deleted 4: wg0: <POINTOPOINT,MULTICAST,NOARP> mtu 1420 qdisc noop state DOWN group default ",
  ],
  [null, "[ADDR]4: wg0    inet 10.64.0.2/32 scope global noprefixroute wg0"],
  ["tunnel", "[ADDR]Deleted 4: wg0    inet6 fd00:64::2/128 scope global nodad noprefixroute "],
  [null, "[ROUTE]default dev wg0 table 20556 scope link linkdown "],
  ["tunnel", "[ROUTE]Deleted default dev wg0 table 20556 metric 1024 linkdown pref medium"],
  ["tunnel", "[ROUTE]1.2.3.0/24 via 192.168.9.1 dev up0 table 20556 "],
  ["tunnel", "[ROUTE]unreachable 9.9.9.9 table 20556 "],
  ["network", "[LINK]3: up0@up1: <NO-CARRIER,BROADCAST,MULTICAST,UP,M-DOWN> mtu 1500 state LOWERLAYERDOWN "],
  [
    "network",
    "[LINK]Deleted 3: up0@NONE: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default ",
  ],
  ["network", "[ADDR]3: up0    inet 192.168.9.2/24 scope global up0"],
  ["network", "[ADDR]Deleted 2: up1    inet6 fe80::7c76:eff:feb0:210a/64 scope link tentative "],
  ["network", "[ADDR]5: wg    inet 192.168.9.2/24 scope global wg"],
  ["network", "[LINK]5: wg00: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default "],
  ["network", "[ROUTE]default via 192.168.9.1 dev up0 "],
  ["network", "[ROUTE]Deleted default via fd00:9::1 dev up0 metric 1024 pref medium"],
  [null, "[ROUTE]192.168.9.0/24 dev up0 proto kernel scope link src 192.168.9.2 "],
  [null, "[ROUTE]local 192.168.9.2 dev up0 table local proto kernel scope host src 192.168.9.2 "],
  [null, "[ROUTE]1.2.3.0/24 via 192.168.9.1 dev up0 table 205560 "],
  [null, "    link/ether 62:6f:ef:0b:93:10 brd ff:ff:ff:ff:ff:ff"],
  [null, "       valid_lft forever preferred_lft forever"],
  [null, ""],
];

test.each(LINES)("%s is what is seen in: %s", (meaning, line) => {
  expect(sightingIn(line, LINKS)?.of ?? null).toBe(meaning);
});

/** Longest that a machine under load may take to tell of a change. */
const PATIENCE_MS = 60_000;
/** Longer than between two of its words. */
const QUIET_MS = 500;

/** Runs `work` in a namespace of its own that is watched, with what was seen since it was last emptied. */
function watched(work: (host: Host, seen: Set<Seen>) => Promise<void>): Promise<void> {
  return inNamespace(async (host) => {
    const stop = new AbortController();
    const seen = new Set<Seen>();
    watchKernel(host, LINKS, (sighting) => seen.add(sighting.of), stop.signal);
    try {
      await listening(host, seen);
      await work(host, seen);
    } finally {
      stop.abort();
    }
  });
}

/** Waits until both programs listen, and the gaps before that have been told. */
async function listening(host: Host, seen: Set<Seen>): Promise<void> {
  await until(seen, "firewall");
  for (const [sighting, make, clear] of [
    ["firewall", "nft add table inet portcullis", "nft delete table inet portcullis"],
    ["rules", "ip rule add priority 9 lookup main", "ip rule del priority 9"],
  ] as const) {
    for (seen.clear(); !seen.has(sighting); await Bun.sleep(50)) {
      await host.run(make.split(" "));
      await host.run(clear.split(" "));
    }
  }
  await quiet(seen);
}

/** What was done before has been told. */
async function quiet(seen: Set<Seen>): Promise<void> {
  do {
    seen.clear();
    await Bun.sleep(QUIET_MS);
  } while (seen.size > 0);
}

async function until(seen: ReadonlySet<Seen>, sighting: Seen): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !seen.has(sighting); await Bun.sleep(5)) {
    if (Date.now() > deadline) throw new Error(`the kernel tells of ${[...seen].join(", ")} alone`);
  }
}

/** Commands, and what a watcher sees of each. */
const CHANGES: [command: string, seen: Seen | null][] = [
  ["ip link add up0 type veth peer name up1", "network"],
  ["ip link set up1 up", "network"],
  ["ip link set up0 up", "network"],
  ["ip address add 192.168.9.2/24 dev up0", "network"],
  ["ip route add default via 192.168.9.1", "network"],
  ["ip link set up1 down", "network"],
  ["ip link set up1 up", "network"],
  ["ip route del default", "network"],
  ["ip tuntap add wg0 mode tun", "tunnel"],
  ["ip link set dev wg0 mtu 1420 up", null],
  ["ip address replace 10.64.0.2/32 dev wg0 noprefixroute", null],
  ["ip address replace fd00:64::2/128 dev wg0 noprefixroute nodad", null],
  ["ip route replace 0.0.0.0/0 dev wg0 table 20556", null],
  ["ip route replace ::/0 dev wg0 table 20556", null],
  ["ip route del 0.0.0.0/0 table 20556", "tunnel"],
  ["ip address del 10.64.0.2/32 dev wg0", "tunnel"],
  ["ip link set dev wg0 down", "tunnel"],
  ["ip -4 rule add priority 105 lookup 20556", "rules"],
  ["ip -6 rule add priority 106 unreachable", "rules"],
  ["ip -4 rule del priority 105", "rules"],
  ["ip link del wg0", "tunnel"],
  ["nft add table inet portcullis", "firewall"],
  ["nft add chain inet portcullis output", "firewall"],
  ["nft insert rule inet portcullis output accept", "firewall"],
  ["nft flush chain inet portcullis output", "firewall"],
  ["nft flush ruleset", "firewall"],
  ["nft -f -", "firewall"],
];

const TABLE_TEXT =
  "table inet portcullis { chain output { type filter hook output priority 0; policy drop; }; }\n";

describe("a real kernel", () => {
  test(
    "tells of each change to firewall, rules, tunnel and network",
    () =>
      watched(async (host, seen) => {
        for (const [command, expected] of CHANGES) {
          seen.clear();
          await host.run(command.split(" "), command.endsWith("-f -") ? { stdin: TABLE_TEXT } : {});
          if (expected === null) continue;
          await until(seen, expected).catch((error) => expect(String(error), command).toBe(expected));
        }
      }),
    120_000,
  );

  test(
    "tells of another program's table that it is one, and nothing of a route that is not the default",
    () =>
      watched(async (host, seen) => {
        // IPv6 would look for duplicates of its addresses, and tell of that in its own time.
        await host.writeSysctl("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        await host.run("ip link add up0 type veth peer name up1".split(" "));
        await host.run("ip link set up0 up".split(" "));
        await host.run("ip link set up1 up".split(" "));
        await quiet(seen);
        await host.run("nft add table inet docker".split(" "));
        await host.run("ip route add 198.51.100.0/24 dev up0".split(" "));
        await host.run("ip rule add priority 105 lookup 20556".split(" "));
        await until(seen, "rules");
        await Bun.sleep(200);
        expect([...seen].toSorted()).toEqual(["other firewalls", "rules"]);
      }),
    60_000,
  );
});

test("a watch whose program cannot listen tells of a gap again and again, and stops when it is told to", async () => {
  const gaps: Seen[] = [];
  const exits: (() => void)[] = [];
  let starts = 0;
  const stop = new AbortController();
  const host = {
    watch: (_argv: readonly string[], _onLine: unknown, onExit: () => void) => {
      starts += 1;
      exits.push(onExit);
      return { stop: () => {} };
    },
    sleep: async () => {},
  } as unknown as Host;
  watchKernel(host, LINKS, (sighting) => gaps.push(sighting.of), stop.signal);
  await Bun.sleep(0);
  expect(gaps.toSorted()).toEqual(["firewall", "network", "other firewalls", "rules", "tunnel"]);
  exits[0]?.();
  await Bun.sleep(0);
  expect(starts).toBe(3);
  expect(gaps.filter((gap) => gap === "firewall")).toHaveLength(2);
  stop.abort();
  exits[2]?.();
  await Bun.sleep(0);
  expect(starts).toBe(3);
});

test("a watch that cannot be started is started again, and its gap is told then", async () => {
  const gaps: Seen[] = [];
  const exits: (() => void)[] = [];
  let failures = 0;
  const stop = new AbortController();
  const host = {
    watch: (_argv: readonly string[], _onLine: unknown, onExit: () => void) => {
      if (failures-- > 0) throw new Error("nft cannot be started");
      exits.push(onExit);
      return { stop: () => {} };
    },
    sleep: async () => {},
  } as unknown as Host;
  failures = 1;
  watchKernel(host, LINKS, (sighting) => gaps.push(sighting.of), stop.signal);
  await Bun.sleep(0);
  expect(exits).toHaveLength(2);
  failures = 3;
  gaps.length = 0;
  exits[0]?.();
  await Bun.sleep(0);
  expect(exits).toHaveLength(3);
  expect(gaps).toContain("network");
  stop.abort();
});
