import { expect, test } from "bun:test";
import { dhcpState, dhcpWait, startedUnit, UNIT_DIGEST } from "../../src/dhcp/unit.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { until } from "../rig/tools/until.ts";

/** Systemd's answers, one after the other; the last one stays. */
function hostWith(...answers: [state: string, status: string][]) {
  let now = 0;
  let at = 0;
  return {
    run: async () => {
      const [state, status] = answers[Math.min(at++, answers.length - 1)] ?? [];
      return `StatusText=${status}\nActiveState=${state}\n`;
    },
    sleep: async (ms: number) => {
      now += ms;
    },
    monotonic: () => now,
  };
}

test("what systemd says becomes one of three states", async () => {
  expect(await dhcpState(hostWith(["active", "anything"]))).toEqual({ name: "serving" });
  expect(await dhcpState(hostWith(["activating", "no cable"]))).toEqual({
    name: "waiting",
    reason: "no cable",
  });
  expect(await dhcpState(hostWith(["activating", ""]))).toEqual({ name: "waiting", reason: null });
  for (const state of ["inactive", "failed"])
    expect(await dhcpState(hostWith([state, "no cable"]))).toEqual({ name: "stopped" });
});

test("after a start, what it waits for is found as soon as systemd knows", async () => {
  const starting: [string, string] = ["activating", ""];
  expect(await dhcpWait(hostWith(starting, starting, ["active", ""]))).toBeNull();
  expect(await dhcpWait(hostWith(starting, ["activating", "no cable"]))).toBe(
    "no cable. It starts by itself when nothing is in its way",
  );
  expect(await dhcpWait(hostWith(["failed", ""]))).toBe(
    "it does not run. Its log: journalctl -u portcullis-dhcp",
  );
  expect(await dhcpWait(hostWith(starting))).toBe(
    "it is still starting. Its log: journalctl -u portcullis-dhcp",
  );
});

test("a running process shows which unit it was started with, whatever has become of the unit's file", async () => {
  const machine = new LinuxHost();
  const startedAs = (answer: () => Promise<string>) =>
    startedUnit({ run: answer, read: (path) => machine.read(path) });
  const processWith = async (env: Record<string, string>) => {
    const child = Bun.spawn(["sleep", "60"], { env: { PATH: process.env.PATH ?? "", ...env } });
    // Until it has begun, the process is still this one.
    await until(async () => (await machine.read(`/proc/${child.pid}/cmdline`))?.startsWith("sleep") === true);
    const found = await startedAs(async () => `${child.pid}\n`);
    child.kill();
    return found;
  };
  expect(await processWith({ [UNIT_DIGEST]: "abc", OTHER: "1" })).toBe(`${UNIT_DIGEST}=abc`);
  // Started by an earlier version.
  expect(await processWith({ OTHER: "1" })).toBeNull();
  expect(await startedAs(async () => "0\n")).toBeNull();
  expect(await startedAs(() => Promise.reject(new Error("there is no systemd")))).toBeNull();
});
