import { describe, expect, spyOn } from "bun:test";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, placeOf, THREE, TWO } from "./gateway.ts";

const { test } = slow;

const PATIENCE_MS = 60_000;
const HOUR_MS = 3_600_000;
const SILENT = "one did not answer the WireGuard handshake within 10 s: is it up, and are the keys right?";

function claim(text: string, work: (gateway: Gateway) => Promise<void>, run: typeof test = test): void {
  run(text, () => inDirectory(async (directory) => work(await Gateway.watched(directory))), PATIENCE_MS);
}

/** What a connect to the first server says when nobody answers. */
async function refusal({ controller, host }: Gateway): Promise<string> {
  host.silent.add("192.0.2.1:51820");
  const work = controller.connect(ONE);
  const said = work.then(
    () => "connected",
    (error: Error) => error.message,
  );
  await host.pass(15_000);
  return said;
}

claim(
  "the last handshake is remembered with the time, in one write, and a clock that is set back too",
  async (gateway) => {
    const { host, controller, savedState, store } = gateway;
    await controller.connect(ONE);
    const start = host.now();
    await host.pass(HOUR_MS);
    const writes = spyOn(store, "atomically");
    await host.pass(2 * HOUR_MS);
    expect(writes.mock.calls.length).toBeWithin(35, 41);
    // WireGuard makes one every two minutes, and the time is saved every three.
    expect(host.now() - (savedState.handshake() ?? 0)).toBeLessThan(6 * 60_000);
    host.setClock(-24 * HOUR_MS);
    await host.pass(HOUR_MS / 2);
    expect(savedState.handshake()).toBeLessThan(start);
  },
  test,
);

claim("the time is saved every three minutes while a tunnel is up, and only then", async (gateway) => {
  const { host, controller, savedState } = gateway;
  await host.pass(10 * 60_000);
  expect(savedState.clock()).toBeNull();
  await controller.connect(ONE);
  await host.pass(HOUR_MS);
  expect(host.now() - (savedState.clock() ?? 0)).toBeLessThan(185_000);
  await controller.disconnect();
  const last = savedState.clock();
  await host.pass(10 * 60_000);
  expect(savedState.clock()).toBe(last);
});

claim(
  "a clock that time synchronisation sets back while a tunnel is up is saved as it is",
  async (gateway) => {
    const { host, controller, savedState } = gateway;
    await controller.connect(ONE);
    await host.pass(5 * 60_000);
    host.setClock(-24 * HOUR_MS);
    await host.pass(60_000);
    expect(host.now() - (savedState.clock() ?? 0)).toBeWithin(0, 65_000);
  },
);

describe("the error of a handshake that nobody answers", () => {
  claim("says nothing of the clock where no handshake is known", async (gateway) => {
    gateway.host.setClock(-100 * HOUR_MS);
    expect(await refusal(gateway)).toBe(SILENT);
  });

  claim("says nothing of the clock where it has gone on, or ahead", async (gateway) => {
    await gateway.controller.connect(ONE);
    await gateway.controller.disconnect();
    expect(await refusal(gateway)).toBe(SILENT);
    gateway.host.setClock(100 * HOUR_MS);
    expect(await refusal(gateway)).toBe(SILENT);
  });

  claim("names a clock that is earlier than the last handshake, after a restart too", async (gateway) => {
    const { host } = gateway;
    await gateway.controller.connect(ONE);
    await gateway.controller.disconnect();
    host.setClock(-10 * HOUR_MS);
    const hint =
      ' The clock of this machine says 2025-12-31 14:00 UTC, and the last handshake was at 2026-01-01 00:00 UTC; servers refuse a handshake from the past. If the clock is wrong, set it: sudo date -u -s "YYYY-MM-DD HH:MM". If it is right, it was ahead at that handshake: connect to another server, or replace this gateway\'s key.';
    expect(await refusal(gateway)).toBe(SILENT + hint);
    await gateway.restart();
    expect(await refusal(gateway)).toStartWith(`${SILENT} The clock of this machine says`);
  });

  claim("of reconnecting names it in the status", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(ONE);
    await host.pass(HOUR_MS);
    host.removeLink("wg0");
    host.setClock(-10 * HOUR_MS);
    host.silent.add("192.0.2.1:51820");
    await gateway.restart();
    gateway.watch();
    await host.pass(60_000);
    expect(await gateway.status()).toMatchObject({ state: "reconnecting" });
    expect((await gateway.status()).error).toContain("The clock of this machine says");
  });

  claim("to a place names it, too", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(ONE);
    await controller.disconnect();
    host.setClock(-10 * HOUR_MS);
    for (const server of ["192.0.2.2:51820", "192.0.2.3:51820"]) host.silent.add(server);
    const said = controller.connect(placeOf([TWO, THREE])).catch((error: Error) => error.message);
    await host.pass(15_000);
    expect(await said).toMatch(/ answered the WireGuard handshake\. The clock of this machine says /);
  });
});
