import { expect, test } from "bun:test";
import { Failback } from "../../src/tunnel/failback.ts";
import type { Sample } from "../../src/tunnel/health.ts";
import type { Order } from "../../src/tunnel/order.ts";
import type { Session } from "../../src/tunnel/session.ts";
import type { Target } from "../../src/tunnel/target.ts";
import { ONE, placeOf, SERVERS, THREE, TWO } from "./gateway.ts";

const TARGETS = SERVERS.map(({ provider, name }) => ({ provider, server: name }));

/** A tunnel to the third of three targets, and where it was to go back. */
class Tunnel {
  now = 0;
  bytes = 0;
  readonly tried: string[][] = [];
  /** What was left because it was slow. */
  readonly held: string[] = [];
  private session = { server: THREE } as Session;
  /** Whether the best target answers and carries nothing, so that the tunnel soon leaves it again. */
  isHollow = false;
  private readonly failback: Failback;

  constructor(
    private order: Partial<Order>,
    named: (name: string) => Target | null = (name) => SERVERS.find((each) => each.name === name) ?? null,
  ) {
    const tunnel = this;
    this.failback = new Failback({
      host: { monotonic: () => this.now },
      controller: {
        get asked() {
          return { order: { targets: TARGETS, at: 2, ...tunnel.order } };
        },
        moveBeside: async (better) => {
          this.tried.push(better.map(({ target }) => target.name));
          if (this.isHollow) this.order = { ...this.order, at: 0 };
          return this.isHollow;
        },
      },
      found: ({ server }) => named(server),
      isHeld: (target) => target !== undefined && this.held.includes(target.server),
      name: "main",
      log: { info: () => {} },
    });
  }

  /** A look each second, while so much is carried. */
  async passes(minutes: number, bytesInSecond = 0): Promise<void> {
    for (let second = 0; second < minutes * 60; second += 1) {
      this.now += 1_000;
      this.bytes += bytesInSecond;
      this.failback.look(this.session, { rxBytes: this.bytes, txBytes: 0 } as Sample);
      await Promise.resolve();
      await Promise.resolve();
      if (this.order.at === 0 && second % 30 === 29) {
        this.order = { ...this.order, at: 2 };
        this.moves();
      }
    }
  }

  moves(): void {
    this.session = { ...this.session };
  }
}

test("better targets are tried in their order after the time that was asked for, again and again", async () => {
  const tunnel = new Tunnel({ back_after_minutes: 5 });
  await tunnel.passes(5);
  expect(tunnel.tried).toEqual([]);
  await tunnel.passes(1);
  expect(tunnel.tried).toEqual([["one", "two"]]);
  await tunnel.passes(6);
  expect(tunnel.tried).toHaveLength(2);
  tunnel.moves();
  await tunnel.passes(5);
  expect(tunnel.tried).toHaveLength(2);
});

test("nothing is tried where nobody asked for it", async () => {
  const tunnel = new Tunnel({});
  await tunnel.passes(60);
  expect(tunnel.tried).toEqual([]);
});

test("with a wish for quiet times, a tunnel that carries much waits, and goes a minute after it has stopped", async () => {
  const tunnel = new Tunnel({ back_after_minutes: 5, back_when_quiet: true });
  await tunnel.passes(20, 10_000);
  expect(tunnel.tried).toEqual([]);
  await tunnel.passes(2);
  expect(tunnel.tried).toHaveLength(1);
  const always = new Tunnel({ back_after_minutes: 5 });
  await always.passes(6, 10_000);
  expect(always.tried).toHaveLength(1);
});

test("what is gone, and another way to the present server, are left out", async () => {
  const gone = new Tunnel({ back_after_minutes: 1 }, (name) => (name === "one" ? null : TWO));
  await gone.passes(2);
  expect(gone.tried).toEqual([["two"]]);
  const same = new Tunnel({ back_after_minutes: 1 }, (name) =>
    name === "one" ? placeOf([ONE, THREE]) : { ...THREE, transport: "plain" },
  );
  await same.passes(2);
  expect(same.tried).toEqual([[]]);
});

test("a target that was left because it was slow is left out until its time has come", async () => {
  const tunnel = new Tunnel({ back_after_minutes: 1 });
  tunnel.held.push("one");
  await tunnel.passes(2);
  tunnel.held.pop();
  await tunnel.passes(1);
  expect(tunnel.tried).toEqual([["two"], ["one", "two"]]);
});

test("a better target that is left soon after each way back is tried more and more rarely", async () => {
  const tunnel = new Tunnel({ back_after_minutes: 1 });
  tunnel.isHollow = true;
  await tunnel.passes(120);
  expect(tunnel.tried.length).toBeGreaterThan(3);
  expect(tunnel.tried.length).toBeLessThan(9);
});
