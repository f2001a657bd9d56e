import { expect, test } from "bun:test";
import { nextTurn } from "../../src/base/queue.ts";
import { type Slot, slotOf } from "../../src/network/slot.ts";
import { KeyHolders } from "../../src/tunnel/key-holders.ts";
import type { Session } from "../../src/tunnel/session.ts";

const MAIN = slotOf(0, "wg");
const TV = slotOf(1, "wg");

/** Interfaces, each with the names of the servers that it has. */
class Interfaces {
  readonly servers = new Map<string, readonly string[]>();
  /** What the next one to be configured waits for. */
  hang: Promise<void> | null = null;
  private readonly holders = new KeyHolders();

  give(slot: Slot, link: string, names: readonly string[]): Promise<void> {
    const keep = (sessions: readonly Session[]) =>
      this.configure(
        link,
        sessions.map(({ server }) => server.config.peer.publicKey),
      );
    return this.holders.give({ slot, link, keep }, names.map(sessionWith), () => this.configure(link, names));
  }

  private async configure(link: string, names: readonly string[]): Promise<void> {
    const { hang } = this;
    this.hang = null;
    await hang;
    this.servers.set(link, names);
  }
}

function sessionWith(publicKey: string): Session {
  return { server: { config: { peer: { publicKey }, interface: { privateKey: "own" } } } } as Session;
}

test("a server that another tunnel gets is taken from an interface, and the others stay", async () => {
  const interfaces = new Interfaces();
  await interfaces.give(TV, "wg2", ["one", "two"]);
  await interfaces.give(MAIN, "wg0", ["one"]);
  expect(Object.fromEntries(interfaces.servers)).toEqual({ wg2: ["two"], wg0: ["one"] });
});

test("an interface that gives up a server slowly keeps what it gets meanwhile", async () => {
  const interfaces = new Interfaces();
  await interfaces.give(TV, "wg2", ["one"]);
  const { promise, resolve } = Promise.withResolvers<void>();
  interfaces.hang = promise;
  const taking = interfaces.give(MAIN, "wg0", ["one"]);
  while (interfaces.hang !== null) await Promise.resolve();
  const next = interfaces.give(TV, "wg2", ["two"]);
  await nextTurn();
  resolve();
  await Promise.all([taking, next]);
  expect(Object.fromEntries(interfaces.servers)).toEqual({ wg2: ["two"], wg0: ["one"] });
});
