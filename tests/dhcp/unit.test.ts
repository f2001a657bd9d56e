import { expect, test } from "bun:test";
import { dhcpState, dhcpWait } from "../../src/dhcp/unit.ts";

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
