import { expect, test } from "bun:test";
import { type TunnelFacts, tunnelFinding } from "../../src/checks/tunnel.ts";

const NOW = Date.UTC(2026, 5, 1);
const ROW: TunnelFacts["row"] = {
  name: "main",
  state: "connected",
  provider: "managed",
  server: "se-1",
  wanted: "Sweden",
  latest_handshake: new Date(NOW - 40_000).toISOString(),
  error: null,
  unanswered: false,
};
const FACTS: TunnelFacts = {
  row: ROW,
  now: NOW,
  online: true,
  detour: null,
  clockBehind: false,
  othersAnswer: false,
  data: true,
};
const SILENT = "se-1 did not answer the WireGuard handshake within 10 s: is it up, and are the keys right?";
const failed = (facts: Partial<TunnelFacts>, row: Partial<TunnelFacts["row"]> = {}) =>
  tunnelFinding({ ...FACTS, data: null, ...facts, row: { ...ROW, state: "failed", error: SILENT, ...row } });

test("a tunnel that shakes hands is fine, whether or not data was sent through it", () => {
  const fine = { result: "ok", found: "connected to se-1; last handshake 40 s ago", advice: null } as const;
  expect(tunnelFinding(FACTS)).toMatchObject(fine);
  expect(tunnelFinding({ ...FACTS, data: null })).toMatchObject(fine);
});

test("of two hops both are named, and neither is blamed alone", () => {
  const via = { via: "nl-1", wanted_via: "Netherlands" };
  expect(tunnelFinding({ ...FACTS, row: { ...ROW, ...via } }).found).toBe(
    "connected to se-1 via nl-1; last handshake 40 s ago",
  );
  expect(tunnelFinding({ ...FACTS, row: { ...ROW, ...via, state: "connecting", server: "" } }).found).toBe(
    "connecting to Sweden via Netherlands",
  );
  expect(failed({ othersAnswer: true }, via).advice).toBe(
    "The key is good and the uplink works, so one of the two servers is down. Try another one: portcullis connect, with a country or a city.",
  );
});

test("keys that were asked for are told, and what lacks them is no dead server", () => {
  expect(tunnelFinding({ ...FACTS, row: { ...ROW, quantum: true } })).toMatchObject({
    result: "ok",
    found: "connected to se-1, with keys that are safe from quantum computers; last handshake 40 s ago",
  });
  expect(tunnelFinding({ ...FACTS, row: { ...ROW, quantum: false } })).toMatchObject({
    result: "warning",
    found: "connected to se-1, but its keys are not safe from quantum computers: it agreed on none that are",
    advice:
      "Connect to another of Mullvad's servers, or again later. With --quantum require, nothing is carried without such keys.",
  });
  for (const why of ["10.64.0.1:1337 did not answer within 8 s", SILENT])
    expect(
      failed({}, { error: `se-1 agreed on no keys that are safe from quantum computers: ${why}` }),
    ).toMatchObject({
      result: "fault",
      found: `se-1 agreed on no keys that are safe from quantum computers: ${why}`,
      advice:
        "The server answers, but not with the keys that are required. Connect to another of Mullvad's servers, or do without: portcullis connect, with --quantum on.",
    });
});

test("a handshake that is overdue, a connect under way and no tunnel are warnings", () => {
  const latest_handshake = new Date(NOW - 181_000).toISOString();
  expect(tunnelFinding({ ...FACTS, row: { ...ROW, latest_handshake } })).toMatchObject({
    result: "warning",
    found: "connected to se-1, but there was no handshake for three minutes",
    advice: "The gateway reconnects by itself when the server stays silent. Check again in a minute.",
  });
  expect(tunnelFinding({ ...FACTS, row: { ...ROW, state: "connecting", server: "" } })).toMatchObject({
    result: "warning",
    found: "connecting to Sweden",
    advice: "Wait some seconds and check again.",
  });
  const idle = { ...ROW, state: "disconnected", server: "", wanted: null } as const;
  expect(tunnelFinding({ ...FACTS, row: idle })).toMatchObject({
    result: "warning",
    found: "not connected: nothing leaves by it",
    advice: "Connect it: portcullis connect, with a server, a country or a city.",
  });
  expect(tunnelFinding({ ...FACTS, row: { ...idle, name: "tv" } }).advice).toBe(
    "Connect it: portcullis tunnel tv connect, with a server, a country or a city.",
  );
});

test("a server that shakes hands and carries nothing is told from one that is silent", () => {
  expect(tunnelFinding({ ...FACTS, data: false })).toMatchObject({
    result: "fault",
    found: "se-1 answered the handshake 40 s ago, but no data came back",
    advice:
      "The server is up and knows your key, but does not carry your traffic. Check whether your account has expired: sudo portcullis account show. Try another server: portcullis connect, with a country or a city.",
  });
  expect(tunnelFinding({ ...FACTS, row: { ...ROW, provider: "custom" }, data: false }).advice).not.toContain(
    "account",
  );
});

test("silence has the cause that fits what else is known", () => {
  expect(failed({})).toMatchObject({
    result: "fault",
    found: `${SILENT} (no other server has accepted the key lately)`,
    advice:
      "The server is down, or the provider refuses the key because the account has expired or the key was removed. To see which: sudo portcullis account show. If the account is good, try another server.",
  });
  expect(failed({ othersAnswer: true })).toMatchObject({
    result: "fault",
    found: `${SILENT} (another server accepts the same key)`,
    advice:
      "The key is good and the uplink works, so this server is down. Try another one: portcullis connect, with a country or a city.",
  });
  expect(failed({}, { provider: "custom" })).toMatchObject({
    result: "fault",
    found: SILENT,
    advice:
      "Check that the server is up, that its address, port and public key are right, and that it has this gateway's public key. Some networks block UDP: try another port if the server has one.",
  });
  expect(failed({ clockBehind: true })).toMatchObject({
    result: "fault",
    found: SILENT,
    advice: "The clock is behind: set it first.",
  });
  expect(failed({ online: false, clockBehind: true }, { error: null })).toMatchObject({
    result: "fault",
    found: "se-1 does not answer handshakes",
    advice: "The uplink is down: repair it first.",
  });
  expect(failed({}, { error: "the name vpn.example.org does not resolve" })).toMatchObject({
    result: "fault",
    found: "the name vpn.example.org does not resolve",
    advice: "The server was not contacted. Solve this first, then connect again.",
  });
});

test.each([
  "none of the 5 servers tried in Sweden answered the WireGuard handshake",
  "se-1 no longer answers",
])("%p counts as silence", (error) => {
  expect(failed({}, { error, state: "reconnecting" }).found).toBe(
    `${error} (no other server has accepted the key lately)`,
  );
});

test("a server that another route than the default one leads to is named with the route, unless the uplink is down", () => {
  const detour = "203.0.113.11 via 192.168.88.66 dev up0";
  expect(failed({ detour })).toMatchObject({
    result: "fault",
    found: `${SILENT} (what is sent to it takes the route ${detour}, and not the default route)`,
    advice: `If this route is not yours, a machine on the uplink has set it, by DHCP or router advertisements. Nothing leaves outside the tunnel by it. Remove it: sudo ip route del ${detour}`,
  });
  expect(failed({ detour, online: false }).advice).toBe("The uplink is down: repair it first.");
  expect(tunnelFinding({ ...FACTS, detour }).result).toBe("ok");
});
