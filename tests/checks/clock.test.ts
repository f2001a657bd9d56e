import { expect, test } from "bun:test";
import { clockFinding } from "../../src/checks/clock.ts";

const JUNE = Date.UTC(2026, 5, 1, 12, 30);
const DAY_MS = 86_400_000;

/** A machine with that clock, and what timedatectl says; null without one. */
function machine(now: number, synchronised: "yes" | "no" | null = "yes") {
  return {
    now: () => now,
    run: async (argv: readonly string[]) => {
      expect(argv.join(" ")).toBe("timedatectl show --property=NTPSynchronized --value");
      if (synchronised === null) throw new Error("timedatectl cannot be started: is it installed?");
      return `${synchronised}\n`;
    },
  };
}

const SET = 'Set the clock: sudo date -u -s "YYYY-MM-DD HH:MM"';

test("a clock is right as far as anything on the machine can tell", async () => {
  const right = { result: "ok", found: "2026-06-01 12:30 UTC", advice: null } as const;
  expect(await clockFinding(machine(JUNE), null)).toMatchObject(right);
  expect(await clockFinding(machine(JUNE), JUNE)).toMatchObject(right);
  expect(await clockFinding(machine(JUNE, null), JUNE - DAY_MS)).toMatchObject(right);
});

test("a clock that no time server has confirmed is worth a look", async () => {
  expect(await clockFinding(machine(JUNE, "no"), null)).toMatchObject({
    result: "warning",
    found: "2026-06-01 12:30 UTC, but no time server has confirmed it",
    advice:
      "Compare it with another clock. Time servers are reached through the tunnel only: connect, and turn the time service on: sudo timedatectl set-ntp true",
  });
});

test("a clock that is behind keeps every server from answering", async () => {
  expect(await clockFinding(machine(JUNE), JUNE + DAY_MS)).toMatchObject({
    result: "fault",
    found:
      "2026-06-01 12:30 UTC, but this machine has already seen 2026-06-02 12:30 UTC: servers refuse a handshake from the past",
    advice: `If the clock is wrong: ${SET}. If it is right, it was ahead then: connect to another server, or replace this gateway's key.`,
  });
  expect(await clockFinding(machine(0, "no"), null)).toMatchObject({
    result: "fault",
    found: "1970-01-01 00:00 UTC, which is before this version of Portcullis was made",
    advice: `${SET}.`,
  });
});

test("a clock that is years ahead would spoil the key", async () => {
  expect(await clockFinding(machine(Date.UTC(2099, 0, 1)), JUNE)).toMatchObject({
    result: "fault",
    found: "2099-01-01 00:00 UTC, which is years ahead: servers that see it refuse this key until then",
    advice: `${SET}, before you connect.`,
  });
});
