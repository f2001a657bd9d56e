import { ptr } from "bun:ffi";
import { afterAll, afterEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DATAGRAM_NONBLOCK_CLOEXEC, libc, receivedFrom } from "../../src/system/libc.ts";
import { tellStatus, unixAddress } from "../../src/system/notify.ts";
import { until } from "../rig/tools/until.ts";

const NOTIFY = join(import.meta.dir, "../../src/system/notify.ts");
const folder = mkdtempSync(join(tmpdir(), "portcullis-notify-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  delete process.env.NOTIFY_SOCKET;
});

/** Listens as systemd does. */
function listen(name: string) {
  const c = libc();
  const socket = c.socket(1, DATAGRAM_NONBLOCK_CLOEXEC, 0);
  const address = unixAddress(name);
  expect(c.bind(socket, ptr(address), address.length)).toBe(0);
  const received = () =>
    [...receivedFrom(socket, { buffer: Buffer.alloc(4_096), addressBytes: 128, most: 100 })].map(
      ({ bytes }) => new TextDecoder().decode(bytes),
    );
  return { received, [Symbol.dispose]: () => void c.close(socket) };
}

for (const [kind, name] of [
  ["a path", join(folder, "notify")],
  ["the abstract namespace", `@portcullis-test-${process.pid}`],
] as const) {
  test(`systemd's socket can be in ${kind}, and no program is started to write to it`, async () => {
    using systemd = listen(name);
    using spawned = spyOn(Bun, "spawn");
    process.env.NOTIFY_SOCKET = name;
    await tellStatus("waits for café");
    expect(systemd.received()).toEqual(["STATUS=waits for café"]);
    expect(spawned).not.toHaveBeenCalled();
  });
}

test("the service says once that it is ready, and goes on to say that it runs", async () => {
  const name = join(folder, "watchdog");
  using systemd = listen(name);
  const source = `import { notifySystemd } from ${JSON.stringify(NOTIFY)}; notifySystemd();`;
  // Without a PATH, as no other program is needed.
  const env = { NOTIFY_SOCKET: name, WATCHDOG_USEC: "30000", PATH: "" };
  await using _service = Bun.spawn([process.execPath, "-e", source], { env });
  const messages: string[] = [];
  await until(() => messages.push(...systemd.received()) >= 4);
  expect(messages.slice(0, 4)).toEqual(["READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]);
});

test("a message waits until systemd's queue has room", async () => {
  const name = join(folder, "full");
  using systemd = listen(name);
  process.env.NOTIFY_SOCKET = name;
  const queued = Number(await Bun.file("/proc/sys/net/unix/max_dgram_qlen").text()) + 1;
  for (let count = 0; count < queued; count += 1) await tellStatus(`${count}`);
  const late = tellStatus("late");
  expect(systemd.received()).not.toContain("STATUS=late");
  await late;
  expect(systemd.received()).toEqual(["STATUS=late"]);
});
