import { expect, test } from "bun:test";
import { stripVTControlCharacters } from "node:util";
import { lineOf, textOf } from "../../src/cli/status.ts";
import type { Status } from "../../src/tunnel/schema.ts";

const STATUS: Status = {
  ...{ connected: true, provider: "managed", server: "se-1", ip: "192.0.2.1", location: "", uptime: "1m" },
  ...{ killswitch_active: true, state: "connected", uptime_seconds: 60, latest_handshake: null },
  ...{ rx_bytes: 0, tx_bytes: 0, error: null, mtu: 1420, unanswered: false },
  ...{ direct_devices: 0, direct_destinations: 0 },
  verdict: {
    ...{ name: "protected", title: "Protected", text: "Everything at home leaves by Oslo.", why: null },
    ...{ through: 1, without: 0 },
  },
};

test.each([
  [0, 0, null],
  [1, 0, "1 device outside the tunnel"],
  [0, 1, "1 rule for destinations outside the tunnel"],
  [2, 3, "2 devices and 3 rules for destinations outside the tunnel"],
])("the status counts what leaves outside the tunnel: %d devices, %d rules", (devices, rules, text) => {
  const status = { ...STATUS, direct_devices: devices, direct_destinations: rules };
  const [all, line] = [textOf(status, 0), lineOf(status)].map(stripVTControlCharacters);
  if (text === null) expect(`${all}${line}`).not.toMatch(/outside|direct/i);
  else {
    expect(all).toMatch(new RegExp(`Direct +${text}\\n`));
    expect(line).toContain(`direct: ${text}`);
  }
});

test("what leaves outside the tunnel is no reason for green", () => {
  const { FORCE_COLOR } = process.env;
  process.env.FORCE_COLOR = "1";
  const verdict = { ...STATUS.verdict, title: "Protected, with exceptions" };
  const isGreen = (status: Status) => lineOf(status).startsWith("\u001b[32m");
  expect(isGreen(STATUS)).toBe(true);
  expect(isGreen({ ...STATUS, verdict, direct_devices: 1 })).toBe(false);
  if (FORCE_COLOR === undefined) delete process.env.FORCE_COLOR;
  else process.env.FORCE_COLOR = FORCE_COLOR;
});
