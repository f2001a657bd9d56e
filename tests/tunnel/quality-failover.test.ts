import { expect, test } from "bun:test";
import type { Server } from "../../src/servers/schema.ts";
import type { MoveWhen, Order } from "../../src/tunnel/order.ts";
import { QualityFailover } from "../../src/tunnel/quality-failover.ts";
import type { Session } from "../../src/tunnel/session.ts";
import { SERVERS, THREE } from "./gateway.ts";

const TARGETS = SERVERS.map(({ provider, name }) => ({ provider, server: name }));

/** A tunnel to the first of three targets, and where it was to be led because it is poor. */
class Tunnel {
  now = 0;
  /** What it is known to be. */
  faults: readonly MoveWhen[] = ["lossy"];
  isUplinkPoor = false;
  /** Whether another target answers. */
  answers = true;
  /** How long a move takes, and when the last one began. */
  takesMs = 0;
  begun = 0;
  readonly tried: string[] = [];
  at = 0;
  /** Another list after another connect. */
  targets = TARGETS;
  private session = { server: SERVERS[0] } as Session;
  readonly qualityFailover: QualityFailover;

  constructor(order: Partial<Order>) {
    const tunnel = this;
    this.qualityFailover = new QualityFailover({
      host: { monotonic: () => this.now },
      controller: {
        get asked() {
          return { order: { targets: tunnel.targets, at: tunnel.at, ...order } };
        },
        moveBeside: async (others, because) => {
          this.tried.push(`${because}: ${others.map(({ target }) => target.name).join(", ")}`);
          const at = others[0]?.asked.order?.at;
          if (!this.answers || at === undefined) return false;
          this.begun = this.now;
          this.now += this.takesMs;
          this.at = at;
          this.session = { server: SERVERS[at] } as Session;
          return true;
        },
      },
      quality: {
        quality: { is: (fault) => this.faults.includes(fault) },
      },
      isUplinkPoor: () => this.isUplinkPoor,
      found: ({ server }) => SERVERS.find(({ name }) => name === server) ?? null,
      name: "main",
      log: { info: () => {} },
    });
  }

  /** By a schedule, which leaves the order as it is. */
  leads(server: Server): void {
    this.session = { server } as Session;
  }

  async passes(minutes: number): Promise<void> {
    for (let second = 0; second < minutes * 60; second += 10) {
      this.now += 10_000;
      this.qualityFailover.look(this.session);
      await Promise.resolve();
      await Promise.resolve();
    }
  }
}

test("a lossy target is left for the best other one once it was there for three minutes", async () => {
  const tunnel = new Tunnel({ move_when: ["lossy"] });
  await tunnel.passes(2.5);
  expect(tunnel.tried).toEqual([]);
  await tunnel.passes(1);
  expect([tunnel.tried, tunnel.at]).toEqual([["lossy: two, three"], 1]);
});

test("nothing is left where nobody asked for it, which is not judged yet, or whose uplink is poor itself", async () => {
  const unasked = new Tunnel({});
  const other = new Tunnel({ move_when: ["slow"] });
  const unjudged = new Tunnel({ move_when: ["lossy"] });
  unjudged.faults = [];
  const poor = new Tunnel({ move_when: ["lossy"] });
  poor.isUplinkPoor = true;
  for (const tunnel of [unasked, other, unjudged, poor]) {
    await tunnel.passes(60);
    expect(tunnel.tried).toEqual([]);
  }
  poor.isUplinkPoor = false;
  await poor.passes(1);
  expect(poor.tried).toHaveLength(1);
});

test("a target that is slow and lossy is left for either, and said to be what is shown", async () => {
  for (const [left, why] of [
    [["slow"], "slow"],
    [["lossy"], "lossy"],
    [["slow", "lossy"], "lossy"],
  ] as const) {
    const tunnel = new Tunnel({ move_when: [...left] });
    tunnel.faults = ["slow", "lossy"];
    await tunnel.passes(3.5);
    expect(tunnel.tried).toEqual([`${why}: two, three`]);
  }
});

test("a target stays if no other one answers, and the others are tried again after three minutes", async () => {
  const tunnel = new Tunnel({ move_when: ["slow", "lossy"] });
  tunnel.faults = ["slow"];
  tunnel.answers = false;
  await tunnel.passes(7);
  expect([tunnel.tried, tunnel.at]).toEqual([["slow: two, three", "slow: two, three"], 0]);
});

test("a target that was left is not taken again before its time, which grows while no target is good", async () => {
  const tunnel = new Tunnel({ move_when: ["lossy"], back_after_minutes: 20 });
  await tunnel.passes(10);
  expect([tunnel.tried.slice(0, 3), tunnel.at]).toEqual([
    ["lossy: two, three", "lossy: three", "lossy: "],
    2,
  ]);
  await tunnel.passes(24 * 60);
  const moves = tunnel.tried.filter((each) => !each.endsWith(": "));
  expect(moves.length).toBeGreaterThan(3);
  expect(moves.length).toBeLessThan(14);
});

test("the time of a target that was left runs while the tunnel is led elsewhere, as the way back's own does", async () => {
  const tunnel = new Tunnel({ move_when: ["lossy"] });
  tunnel.takesMs = 5_000;
  await tunnel.passes(3.5);
  const isHeldAfter = (ms: number) => {
    tunnel.now = tunnel.begun + ms;
    return tunnel.qualityFailover.holds(TARGETS[0]);
  };
  expect([tunnel.at, isHeldAfter(599_999), isHeldAfter(600_000)]).toEqual([1, true, false]);
});

test("another connect is another wish: what was left before is taken again", async () => {
  const tunnel = new Tunnel({ move_when: ["lossy"], back_after_minutes: 1_000 });
  await tunnel.passes(4);
  tunnel.targets = [...TARGETS];
  await tunnel.passes(4);
  expect(tunnel.tried).toEqual(["lossy: two, three", "lossy: one, three"]);
});

test("after a schedule's move, the order's own target may be taken, and is not held for what it did not do", async () => {
  const tunnel = new Tunnel({ move_when: ["lossy"], back_after_minutes: 1_000 });
  tunnel.leads(THREE);
  await tunnel.passes(4);
  expect([tunnel.tried, tunnel.at]).toEqual([["lossy: one, two"], 0]);
  await tunnel.passes(4);
  expect(tunnel.tried.at(-1)).toBe("lossy: two, three");
});
