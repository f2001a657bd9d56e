import { TABLE } from "../../../src/killswitch/ruleset.ts";
import { allLinks, MOST_TUNNELS, tableOf } from "../../../src/network/slot.ts";
import type { Home } from "../home.ts";

/** Something that happens to the gateway; a round has at most one of each layer, for each must hold alone. */
export interface Disturbance {
  title: string;
  run(home: Home): Promise<unknown>;
}

type Pick = <T>(choices: readonly T[]) => T;

/** Longest that a cable is out. */
const OUT_MS = 1_500;
/** Longest that the service stays away, besides what it takes to start. */
const AWAY_MS = 300;

/** What root, the cable or a crash may do. */
export function anyDisturbances(pick: Pick, random: () => number): Disturbance[] {
  const kinds = [
    () => pick([firewall, routing])(pick),
    () => tunnels(pick),
    () => uplink(OUT_MS * random()),
    () => crash(pick(["SIGKILL", "SIGKILL", "SIGTERM"]), AWAY_MS * random()),
  ];
  return kinds.filter(() => random() < 0.3).map((kind) => kind());
}

function firewall(pick: Pick): Disturbance {
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
  return { title: `nft ${text}`, run: (home) => inside(home, "nft", text) };
}

function routing(pick: Pick): Disturbance {
  const family = pick(["-4", "-6"]);
  const priority = pick(["10", "20", "50", "60", "70", "80", "90"]);
  return {
    title: `ip ${family} rule del priority ${priority}`,
    run: (home) => inside(home, "ip", family, "rule", "del", "priority", priority),
  };
}

/** Of any tunnel, there or not. */
function tunnels(pick: Pick): Disturbance {
  const number = pick(Array.from({ length: MOST_TUNNELS / 2 }, (_, index) => index));
  return pick<() => Disturbance>([
    () => ({
      title: `ip link del the ${number}th interface`,
      run: (home) => inside(home, "ip", "link", "del", allLinks(home.lab.sandbox.interface)[number] ?? ""),
    }),
    () => ({
      title: `ip link set the ${number}th interface down`,
      run: (home) =>
        inside(home, "ip", "link", "set", allLinks(home.lab.sandbox.interface)[number] ?? "", "down"),
    }),
    () => ({
      title: `ip route flush table ${tableOf(number)}`,
      run: (home) => inside(home, "ip", "route", "flush", "table", `${tableOf(number)}`),
    }),
  ])();
}

function uplink(ms: number): Disturbance {
  return {
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

function crash(signal: NodeJS.Signals, ms: number): Disturbance {
  return {
    title: `${signal}, and a start after ${ms.toFixed(0)} ms`,
    run: async ({ gateway }) => {
      await gateway.kill(signal);
      await Bun.sleep(ms);
      gateway.launch();
    },
  };
}

function inside({ lab }: Home, ...argv: string[]) {
  return lab.exec(lab.namespaces.gateway, argv);
}
