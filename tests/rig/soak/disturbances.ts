import { TABLE } from "../../../src/killswitch/ruleset.ts";
import { allLinks, MAX_TUNNELS, tableOf } from "../../../src/network/slot.ts";
import { ROUTER, UPLINK } from "../../../src/sandbox/topology.ts";
import type { Home } from "../home/home.ts";

/** Something that happens to the gateway; a round has at most one of each kind, for each must hold alone. */
export interface Disturbance {
  /** What it concerns, for counts. */
  what: string;
  title: string;
  run(home: Pick<Home, "lab" | "gateway">): Promise<unknown>;
}

export type Choose = <T>(choices: readonly T[]) => T;

/** Makes up one of its kind. */
export type Kind = (pick: Choose, random: () => number) => Disturbance;

/** Longest that a cable is out. */
const OUT_MS = 1_500;
/** An outage after which the tunnels are given up. */
const LONG_MS = 3_000;
/** A server is dead by then, and a tunnel with others in order is led to one of them. */
const SILENT_MS = { shortest: 12_000, longest: 20_000 };
/** Longest that the service stays away, besides what it takes to start. */
const AWAY_MS = 300;

/** What root may do to the gateway itself. */
export const ROOTS: readonly Kind[] = [firewall, routing, tunnels];

/** What root, the uplink's cable and DHCP may do. */
export const TAMPERING: readonly Kind[] = [
  (pick) => pick([firewall, routing])(pick),
  tunnels,
  (pick, random) =>
    pick([
      ...Array.from({ length: 15 }, () => () => outage(OUT_MS * random())),
      ...Array.from({ length: 4 }, () => () => anotherAddress(pick)),
      () => silence(pick, random),
    ])(),
];

export function crash(pick: Choose, random: () => number): Disturbance {
  const signal = pick<NodeJS.Signals>(["SIGKILL", "SIGKILL", "SIGTERM"]);
  const ms = AWAY_MS * random();
  return {
    what: signal,
    title: `${signal}, and a start after ${ms.toFixed(0)} ms`,
    run: async ({ gateway }) => {
      await gateway.kill(signal);
      await Bun.sleep(ms);
      gateway.launch();
    },
  };
}

/** One of some of these kinds; where there is only one kind, one of it each time. */
export function anyDisturbances(kinds: readonly Kind[], pick: Choose, random: () => number): Disturbance[] {
  const part = kinds.length === 1 ? 1 : 0.3;
  return kinds.filter(() => random() < part).map((kind) => kind(pick, random));
}

export function outage(ms: number): Disturbance {
  return {
    what: ms < LONG_MS ? "short outages" : "long outages",
    title: `the uplink's cable is out for ${ms.toFixed(0)} ms`,
    run: async ({ lab }) => {
      await lab.unplug();
      await Bun.sleep(ms);
      await lab.plug();
      // The kernel looks for a carrier once a second, and at once when it is asked.
      await lab.exec(lab.namespaces.gateway, ["cat", `/sys/class/net/${lab.sandbox.uplink}/carrier`]);
    },
  };
}

function silence(pick: Choose, random: () => number): Disturbance {
  const server = pick(["vpn1", "vpn2"]);
  const ms = SILENT_MS.shortest + (SILENT_MS.longest - SILENT_MS.shortest) * random();
  return {
    what: "silent servers",
    title: `${server}'s cable is out for ${ms.toFixed(0)} ms`,
    run: async ({ lab }) => {
      const cable = (way: string) => lab.exec(lab.namespaces.internet, ["ip", "link", "set", server, way]);
      await cable("down");
      await Bun.sleep(ms);
      await cable("up");
    },
  };
}

/** As DHCP and router advertisements would, also if it is the same one again. */
function anotherAddress(pick: Choose): Disturbance {
  const [v4, v6] = pick([
    [UPLINK.gateway4, UPLINK.gateway6],
    ["192.168.88.3", "fd88::3"],
  ]);
  const router = ROUTER.lan[2];
  return {
    what: "leases",
    title: `the uplink loses its addresses and gets ${v4} and ${v6}`,
    run: ({ lab }) => {
      const { uplink } = lab.sandbox;
      const lines = [
        `-4 address flush dev ${uplink}`,
        `-6 address flush dev ${uplink} scope global`,
        `address add ${v4}/24 dev ${uplink}`,
        `address add ${v6}/64 dev ${uplink} nodad`,
        `-4 route replace default via ${router.v4} dev ${uplink}`,
        `-6 route replace default via ${router.v6} dev ${uplink}`,
      ];
      return lab.outside(
        ["ip", "-n", lab.namespaces.gateway, "-force", "-batch", "-"],
        `${lines.join("\n")}\n`,
      );
    },
  };
}

function firewall(pick: Choose): Disturbance {
  const text = pick([
    "flush ruleset",
    `delete table ${TABLE}`,
    `flush table ${TABLE}`,
    `add table ${TABLE} { flags dormant; }`,
    `flush chain ${TABLE} forward`,
    `flush chain ${TABLE} output`,
    `insert rule ${TABLE} forward accept`,
    `insert rule ${TABLE} output accept`,
    `flush set ${TABLE} on_main`,
    `flush set ${TABLE} on_second`,
  ]);
  return { what: "firewall", title: `nft ${text}`, run: (home) => inside(home, "nft", text) };
}

function routing(pick: Choose): Disturbance {
  const family = pick(["-4", "-6"]);
  const priority = pick(["10", "20", "50", "60", "70", "80", "90"]);
  return {
    what: "routing rules",
    title: `ip ${family} rule del priority ${priority}`,
    run: (home) => inside(home, "ip", family, "rule", "del", "priority", priority),
  };
}

/** Of any tunnel, there or not. */
function tunnels(pick: Choose): Disturbance {
  const number = pick(Array.from({ length: MAX_TUNNELS / 2 }, (_, index) => index));
  return pick<() => Disturbance>([
    () => ({
      what: "tunnels' interfaces and routes",
      title: `ip link del the ${number}th interface`,
      run: (home) => inside(home, "ip", "link", "del", allLinks(home.lab.sandbox.interface)[number] ?? ""),
    }),
    () => ({
      what: "tunnels' interfaces and routes",
      title: `ip link set the ${number}th interface down`,
      run: (home) =>
        inside(home, "ip", "link", "set", allLinks(home.lab.sandbox.interface)[number] ?? "", "down"),
    }),
    () => ({
      what: "tunnels' interfaces and routes",
      title: `ip route flush table ${tableOf(number)}`,
      run: (home) => inside(home, "ip", "route", "flush", "table", `${tableOf(number)}`),
    }),
  ])();
}

function inside({ lab }: Pick<Home, "lab">, ...argv: string[]) {
  return lab.exec(lab.namespaces.gateway, argv);
}
