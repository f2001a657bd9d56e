import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { LinuxHost } from "../../src/system/linux.ts";

test("a sleep that is over leaves nothing on the signal, which may live as long as the service", async () => {
  const host = new LinuxHost();
  const { signal } = new AbortController();
  for (let sleep = 0; sleep < 20; sleep++) await host.sleep(1, signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("a sleep ends when its signal says so, or at once where it has said so before", async () => {
  const host = new LinuxHost();
  const controller = new AbortController();
  const began = host.monotonic();
  const sleeping = host.sleep(60_000, controller.signal);
  controller.abort();
  await sleeping;
  await host.sleep(60_000, controller.signal);
  expect(host.monotonic() - began).toBeLessThan(30_000);
});
