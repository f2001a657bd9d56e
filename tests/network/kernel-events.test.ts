import { expect, test } from "bun:test";
import {
  type KernelEvent,
  type KernelListener,
  kernelEventIn,
  type Watched,
  watchKernel,
} from "../../src/network/kernel-events.ts";
import type { Host } from "../../src/system/host.ts";
import { FakeHost } from "../fake/host.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "../killswitch/namespace.ts";

const WATCHED: Watched = {
  links: ["wg0", "wg1"],
  routingTables: [20556, 20557],
  lanLinks: () => ["lan0"],
  firewallTables: ["inet portcullis"],
};

/** Output of iproute2 6.1 for changes to a machine with an uplink `up0` and a tunnel `wg0`. */
type Seen = KernelEvent["of"];

const LINES: [meaning: Seen | null, line: string][] = [
  ["rules", "[RULE]100:\tfrom all fwmark 0x504c lookup main"],
  ["rules", "[RULE]Deleted 100:\tfrom all fwmark 0x504c lookup main"],
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
  ["rules", "[ROUTE]Deleted 192.168.7.0/24 dev lan0 table 20565 scope link src 192.168.7.1 "],
  ["rules", "[ROUTE]192.168.7.128/25 via 192.168.9.1 dev up0 table 20565 "],
  ["rules", "[ROUTE]10.8.0.0/16 table 20564 proto static"],
  [null, "[ROUTE]192.168.7.0/24 dev lan0 table 20565 scope link src 192.168.7.1 "],
  [null, "[ROUTE]unreachable fd00:7::/64 dev lo table 20565 metric 4294967295 pref medium"],
  ["network", "[ROUTE]203.0.113.11 via 192.168.9.1 dev up0 "],
  ["network", "[ROUTE]Deleted default via fd00:9::1 dev up0 metric 1024 pref medium"],
  [null, "[ROUTE]192.168.9.0/24 dev up0 proto kernel scope link src 192.168.9.2 "],
  [null, "[ROUTE]local 192.168.9.2 dev up0 table local proto kernel scope host src 192.168.9.2 "],
  [null, "[ROUTE]1.2.3.0/24 via 192.168.9.1 dev up0 table 205560 "],
  [null, "    link/ether 62:6f:ef:0b:93:10 brd ff:ff:ff:ff:ff:ff"],
  [null, "       valid_lft forever preferred_lft forever"],
  [null, ""],
];

test.each(LINES)("%s is the event in: %s", (meaning, line) => {
  expect(kernelEventIn(line, WATCHED)?.of ?? null).toBe(meaning);
});

test("the end of the main table is known at the end of its transaction, and a replacement is none", () => {
  const events: KernelEvent[] = [];
  let onLine = (_line: string) => {};
  const host = {
    sleep: () => new Promise<void>(() => {}),
    watch: (argv: readonly string[], listener: typeof onLine) => {
      if (argv[0] === "nft") onLine = listener;
      return { stop: () => {} };
    },
  } as unknown as Host;
  const listener = { onEvent: (event: KernelEvent) => void events.push(event), onWatching: () => {} };
  watchKernel(host, WATCHED, listener, new AbortController().signal);
  const gone = (...lines: string[]) => {
    events.length = 0;
    for (const line of [...lines, "# new generation 8 by process 4711 (nft)"]) onLine(line);
    return events.map((event) => event.of === "firewall" && event.goneAt);
  };
  const [add, remove] = ["add", "delete"].map((verb) => `${verb} table inet portcullis`) as [string, string];
  const chain = "delete chain inet portcullis output";
  expect(gone(chain, remove, "delete table arp portcullis")).toEqual([8, false]);
  expect(gone(add, remove, add, "add chain inet portcullis output")).toEqual([null]);
  expect(gone(chain)).toEqual([null]);
});

/** Longest that a machine under load may take to report a change. */
const PATIENCE_MS = 60_000;

/** Runs `work` in a watched namespace of its own. */
function watched(work: (watch: WatchedMachine) => Promise<void>): Promise<void> {
  return inNamespace(async (host) => {
    const watch = new WatchedMachine(host);
    try {
      await watch.listens();
      await work(watch);
    } finally {
      watch.stop();
    }
  });
}

/** A real machine, the events since `seen` was last cleared, and the lines that were read. */
class WatchedMachine {
  readonly seen = new Set<Seen>();
  /** Of the firewall, as it was reported last. */
  generation = 0;
  private readonly lines: string[] = [];
  private readonly stopping = new AbortController();
  private marks = 0;

  constructor(readonly host: Host) {
    const overheard: Pick<Host, "sleep" | "watch"> = {
      sleep: (ms, signal) => host.sleep(ms, signal),
      watch: (argv, onLine, onExit) =>
        host.watch(
          argv,
          (line) => {
            onLine(line);
            this.lines.push(line);
          },
          onExit,
        ),
    };
    const listener = {
      onEvent: (event: KernelEvent) => void this.seen.add(event.of),
      onWatching: () => {},
      onGeneration: (generation: number) => {
        this.generation = generation;
      },
    };
    watchKernel(overheard as Host, WATCHED, listener, this.stopping.signal);
  }

  stop(): void {
    this.stopping.abort();
  }

  run(command: string): Promise<string> {
    return this.host.run(command.split(" "), command.endsWith("-f -") ? { stdin: TABLE_TEXT } : {});
  }

  /** Returns once both monitors listen, and the gaps before that have been reported. */
  async listens(): Promise<void> {
    await until(() => this.seen.size === GAPS.length, "the gaps");
    while (!this.hasReported(await this.mark())) await Bun.sleep(50);
    await this.caughtUp();
  }

  /** Returns once all earlier changes have been reported, and forgets them: each monitor reports in order. */
  async caughtUp(): Promise<void> {
    const mark = await this.mark();
    await until(() => this.hasReported(mark), "the last change");
    this.seen.clear();
  }

  /** Makes a change that no test makes and both monitors report. */
  private async mark(): Promise<number> {
    this.marks += 1;
    for (const verb of ["add", "delete"]) {
      await this.run(`nft ${verb} table inet mark${this.marks}`);
      await this.run(`ip rule ${verb} priority ${MARKS_FROM + this.marks} lookup main`);
    }
    return this.marks;
  }

  private hasReported(mark: number): boolean {
    const table = this.lines.indexOf(`delete table inet mark${mark}`);
    const transaction = this.lines.findIndex(
      (line, at) => at > table && line.startsWith("# new generation "),
    );
    const rule = this.lines.some((line) => line.startsWith(`[RULE]Deleted ${MARKS_FROM + mark}:`));
    return table >= 0 && transaction >= 0 && rule;
  }
}

/** What is reported once a monitor begins to listen. */
const GAPS: Seen[] = ["firewall", "network", "other firewalls", "rules", "tunnel"];
/** Priorities of rules without effect. */
const MARKS_FROM = 10_000;

async function until(met: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await met()); await Bun.sleep(5)) {
    if (Date.now() > deadline) throw new Error(`the kernel does not report ${what}`);
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

needsNamespaces.describe("a real kernel", () => {
  test(
    "reports each change to firewall, rules, tunnel and network",
    () =>
      watched(async (watch) => {
        for (const [command, expected] of CHANGES) {
          watch.seen.clear();
          await watch.run(command);
          if (expected !== null) await until(() => watch.seen.has(expected), command);
        }
        await watch.caughtUp();
        const before = watch.generation;
        expect(await watch.host.firewallGeneration()).toBe(before);
        await watch.run("nft add table inet another");
        expect(await watch.host.firewallGeneration()).toBe(before + 1);
      }),
    120_000,
  );

  test(
    "reports another program's table as such, and no route but the default",
    () =>
      watched(async (watch) => {
        // IPv6 would report duplicate address detection at unpredictable times.
        await watch.host.writeSysctl("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        await watch.run("ip link add up0 type veth peer name up1");
        await watch.run("ip link set up0 up");
        await watch.run("ip link set up1 up");
        // The kernel detects the carrier asynchronously.
        for (const link of ["up0", "up1"]) {
          const state = () => watch.run(`ip -j link show ${link}`);
          await until(async () => JSON.parse(await state())[0].operstate === "UP", `the carrier of ${link}`);
        }
        await watch.caughtUp();
        await watch.run("ip route add 198.51.100.0/24 dev up0");
        await watch.run("nft add table inet docker");
        await until(() => watch.seen.has("other firewalls"), "the table");
        expect([...watch.seen]).toEqual(["other firewalls"]);
        await watch.run("ip rule add priority 105 lookup 20556");
        await until(() => watch.seen.has("rules"), "the rule");
        expect([...watch.seen].toSorted()).toEqual(["other firewalls", "rules"]);
        await watch.caughtUp();
        await watch.run("ip route add 10.8.0.0/24 dev up0");
        await until(() => watch.seen.has("network"), "a route that may be the LAN's");
        await watch.run("ip route add 10.8.0.0/24 dev up0 table 20564");
        await watch.caughtUp();
        await watch.run("ip route del 10.8.0.0/24 dev up0 table 20564");
        await until(() => watch.seen.has("rules"), "a route of the gateway's own");
        expect([...watch.seen]).toEqual(["rules"]);
        await watch.caughtUp();
        await watch.run("ip link set lo up");
        await watch.run("nft add table inet portcullis_limits");
        await watch.run("nft add quota inet portcullis_limits tv { over 100 bytes }");
        await watch.caughtUp();
        await watch.run("nft add map inet portcullis_limits who { type ether_addr : mark; }");
        await watch.run("nft add element inet portcullis_limits who { 02:00:00:00:00:20 : 1 }");
        await watch.caughtUp();
        await watch.run("nft flush map inet portcullis_limits who");
        await until(() => watch.seen.has("other firewalls"), "elements that are gone");
        await watch.run("nft add chain inet portcullis_limits out { type filter hook output priority 0; }");
        await watch.run('nft add rule inet portcullis_limits out quota name "tv"');
        await watch.caughtUp();
        await watch.run("ping -c 3 -i 0.01 127.0.0.1");
        await until(() => watch.seen.has("other firewalls"), "a quota that is used up");
        expect([...watch.seen]).toEqual(["other firewalls"]);
        await watch.caughtUp();
        await watch.run("nft add table inet portcullis_traffic");
        await until(() => watch.seen.has("other firewalls"), "a table with a longer name");
        expect([...watch.seen]).toEqual(["other firewalls"]);
      }),
    60_000,
  );
});

/** A machine whose monitors may fail to start; `started` counts those that do. */
class Watching extends FakeHost {
  override patient = true;
  started = 0;
  failures = 0;

  override watch(...[argv, onLine, onExit]: Parameters<Host["watch"]>): ReturnType<Host["watch"]> {
    if (this.failures-- > 0) throw new Error("nft cannot be started");
    this.started += 1;
    return super.watch(argv, onLine, onExit);
  }
}

/** The events of a watch, and whether it reports every change. */
function watching(host: Watching) {
  const gaps: Seen[] = [];
  const stop = new AbortController();
  const watch = { gaps, stop, complete: false };
  const onWatching = (complete: boolean) => {
    watch.complete = complete;
  };
  watchKernel(host, WATCHED, { onEvent: ({ of }) => gaps.push(of), onWatching }, stop.signal);
  return watch;
}

test("a watch whose monitor keeps ending reports a gap each time, and stops when aborted", async () => {
  const host = new Watching();
  const { gaps, stop } = watching(host);
  await host.pass(500);
  expect(gaps.toSorted()).toEqual(GAPS);
  host.endWatches();
  await host.pass(1_500);
  expect(host.started).toBe(6);
  expect(gaps.filter((gap) => gap === "firewall")).toHaveLength(2);
  host.endWatches();
  stop.abort();
  await host.pass(60_000);
  expect(host.started).toBe(6);
});

test("neighbours come from a monitor of their own, whose gaps are none of firewall or routing", async () => {
  const seen: unknown[] = [];
  const stop = new AbortController();
  const host = new Watching();
  const onNeighbour: KernelListener["onNeighbour"] = (neighbour) => seen.push(neighbour?.mac ?? neighbour);
  const events: Seen[] = [];
  const onEvent = ({ of }: KernelEvent) => void events.push(of);
  watchKernel(host, WATCHED, { onEvent, onWatching: () => {}, onNeighbour }, stop.signal);
  await host.pass(500);
  host.setNeighbour("192.168.7.20", "lan0", "02:00:00:00:00:20", "STALE");
  host.setNeighbour("ff02::1", "lan0", "33:33:00:00:00:01", "STALE");
  events.length = 0;
  host.tell("ip", "[NEIGH]netlink receive error No buffer space available (105)");
  expect(events).toEqual([]);
  host.endWatches();
  await host.pass(1_500);
  expect(seen).toEqual([null, "02:00:00:00:00:20", null]);
  expect(host.started).toBe(6);
  stop.abort();
});

test("a watch that cannot be started is started again, and its gap is reported then", async () => {
  const host = new Watching();
  host.failures = 1;
  const { gaps, stop } = watching(host);
  await host.pass(500);
  // Only that of `ip`.
  expect(gaps.toSorted()).toEqual(["network", "rules", "tunnel"]);
  await host.pass(1_000);
  expect(gaps.toSorted()).toEqual(GAPS);
  host.failures = 3;
  gaps.length = 0;
  host.endWatches();
  await host.pass(1_500);
  expect(gaps).toEqual([]);
  await host.pass(10_000);
  expect(gaps.toSorted()).toEqual(GAPS);
  stop.abort();
});

test("a watch is complete only while both monitors listen", async () => {
  const host = new Watching();
  const watch = watching(host);
  await host.pass(499);
  expect(watch.complete).toBe(false);
  await host.pass(1);
  expect(watch.complete).toBe(true);
  for (const program of ["nft", "ip"] as const) {
    host.endWatches(program);
    expect(watch.complete).toBe(false);
    // It ends before it listens.
    await host.pass(1_400);
    host.endWatches(program);
    await host.pass(1_499);
    expect(watch.complete).toBe(false);
    await host.pass(1);
    expect(watch.complete).toBe(true);
  }
  watch.stop.abort();
  expect(watch.complete).toBe(false);
});

test("events that the kernel dropped for a monitor are a gap", async () => {
  const host = new Watching();
  const { gaps, stop } = watching(host);
  await host.pass(500);
  gaps.length = 0;
  host.tell("nft", "# ERROR: We lost some netlink events!");
  expect(gaps).toEqual(["firewall", "other firewalls"]);
  gaps.length = 0;
  host.tell("ip", "netlink receive error No buffer space available (105)");
  expect(gaps.toSorted()).toEqual(["network", "rules", "tunnel"]);
  stop.abort();
});
