import { expect, test } from "bun:test";
import { answerOf } from "../../src/base/fact.ts";
import { MAIN_FACTS, type SeenMain } from "../../src/tunnel/gateway-facts.ts";
import type { Session } from "../../src/tunnel/session.ts";
import { liveIn, type State } from "../../src/tunnel/state.ts";
import { ip } from "../fake/address.ts";
import { NOW, SERVER } from "../servers/example.ts";

const SESSION: Session = {
  server: { ...SERVER, location: "Stockholm, Sweden" },
  link: "wg0",
  zone: 1,
  mark: 0x104c,
  endpoint: { address: ip("192.0.2.1"), port: 51820 },
};

const OBSERVED: Omit<SeenMain, "state" | "live"> = {
  provider: "custom",
  killSwitch: true,
  name: "main",
  spec: null,
  wantedQuantum: "off",
  peer: null,
  error: null,
  mtu: null,
  order: null,
  now: NOW,
};

const statusOf = (state: State, seen: typeof OBSERVED) =>
  answerOf(MAIN_FACTS, { ...seen, state, live: liveIn(state) });

const NOTHING = {
  connected: false,
  provider: "custom",
  server: "",
  ip: "",
  location: "",
  uptime: "0h 0m",
  killswitch_active: true,
  state: "disconnected",
  uptime_seconds: 0,
  latest_handshake: null,
  rx_bytes: 0,
  tx_bytes: 0,
  error: null,
  mtu: null,
  unanswered: false,
} as const;

test("a disconnected gateway shows every field, empty", () => {
  expect(statusOf({ name: "disconnected" }, OBSERVED)).toEqual(NOTHING);
});

test("a connected gateway shows server, uptime and counters", () => {
  const since = NOW - (2 * 3600 + 34 * 60 + 59) * 1000;
  const peer = { publicKey: "", endpoint: null, latestHandshake: NOW - 5000, rxBytes: 7, txBytes: 8 };
  expect(
    statusOf(
      { name: "connected", session: SESSION, since, unanswered: null },
      { ...OBSERVED, peer, mtu: 1420 },
    ),
  ).toEqual({
    ...NOTHING,
    connected: true,
    server: "home",
    ip: "192.0.2.1",
    location: "Stockholm, Sweden",
    uptime: "2h 34m",
    state: "connected",
    uptime_seconds: 9299,
    latest_handshake: "2026-01-02T03:04:00.006Z",
    rx_bytes: 7,
    tx_bytes: 8,
    mtu: 1420,
  });
});

test("a server that answers handshakes alone is connected, and unanswered", () => {
  const state = { name: "connected", session: SESSION, since: NOW, unanswered: NOW } as const;
  expect(statusOf(state, OBSERVED)).toMatchObject({ connected: true, state: "connected", unanswered: true });
});

test("an IPv6 endpoint leaves `ip` empty", () => {
  const session = { ...SESSION, endpoint: { address: ip("2001:db8::1"), port: 1 } };
  expect(statusOf({ name: "connected", session, since: NOW, unanswered: null }, OBSERVED).ip).toBe("");
});

test("a clock that went backwards gives no negative uptime", () => {
  const status = statusOf(
    { name: "connected", session: SESSION, since: NOW + 60_000, unanswered: null },
    OBSERVED,
  );
  expect(status).toMatchObject({ uptime: "0h 0m", uptime_seconds: 0 });
});

test("while a tunnel moves, its status names the server that still carries, if there is one", () => {
  const former = { name: "connected", session: SESSION, since: NOW, unanswered: null } as const;
  const moving = { name: "connecting", server: SERVER, former } as const;
  expect(statusOf(moving, OBSERVED)).toEqual({
    ...NOTHING,
    state: "connecting",
    carrying: { server: "home", location: "Stockholm, Sweden" },
  });
  expect(statusOf({ ...moving, former: null }, OBSERVED)).not.toHaveProperty("carrying");
});

test.each([
  { name: "reconnecting", server: SERVER, session: SESSION, dead: true, since: NOW } as const,
  {
    name: "connecting",
    server: SERVER,
    former: { name: "connected", session: SESSION, since: NOW, unanswered: NOW },
  } as const,
  { name: "failed", server: SERVER } as const,
])("$name is not connected and names no server", (state) => {
  expect(statusOf(state, { ...OBSERVED, error: "why", killSwitch: false })).toEqual({
    ...NOTHING,
    state: state.name,
    killswitch_active: false,
    error: "why",
  });
});
