import { describe, expect, test } from "bun:test";
import type { Session } from "../../src/tunnel/session.ts";
import {
  type Connected,
  carriedBy,
  type Event,
  type Reconnecting,
  type State,
  transition,
} from "../../src/tunnel/state.ts";
import { ip } from "../fake/address.ts";
import { ONE, TWO } from "./gateway.ts";

const FIRST: Session = {
  server: ONE,
  link: "wg0",
  zone: 1,
  mark: 0x104c,
  endpoint: { address: ip("192.0.2.1"), port: 51820 },
};
const SECOND: Session = {
  server: TWO,
  link: "wg1",
  zone: 2,
  mark: 0x104c,
  endpoint: { address: ip("192.0.2.2"), port: 51820 },
};

const CONNECTED: Connected = { name: "connected", session: FIRST, since: 7, unanswered: null };
const UNANSWERED: Connected = { ...CONNECTED, unanswered: 8 };
const LOST: Reconnecting = { name: "reconnecting", server: ONE, session: FIRST, dead: true, since: 7 };
const RECALLED: Reconnecting = { name: "reconnecting", server: ONE, session: null, dead: true, since: 7 };

const STATES = {
  disconnected: { name: "disconnected" },
  failed: { name: "failed", server: ONE },
  connecting: { name: "connecting", server: ONE, former: null },
  "connecting from connected": { name: "connecting", server: TWO, former: CONNECTED },
  "connecting from lost": { name: "connecting", server: TWO, former: LOST },
  "connecting from recalled": { name: "connecting", server: TWO, former: RECALLED },
  connected: CONNECTED,
  unanswered: UNANSWERED,
  lost: LOST,
  recalled: RECALLED,
} satisfies Record<string, State>;

const EVENTS = {
  dial: { type: "dial", server: TWO },
  arrive: { type: "arrive", session: SECOND, since: 9 },
  fail: { type: "fail" },
  interrupt: { type: "interrupt" },
  lost: { type: "lost", dead: true },
  drop: { type: "drop" },
  recovered: { type: "recovered" },
  resume: { type: "resume", server: TWO, since: 9 },
  unanswered: { type: "unanswered", since: 8 },
  answered: { type: "answered" },
  disconnect: { type: "disconnect" },
} satisfies Record<Event["type"], Event>;

const ARRIVED: State = { name: "connected", session: SECOND, since: 9, unanswered: null };
const GONE: State = { name: "disconnected" };

/** A dial, an arrival and a hang-up mean the same everywhere, but for what a dial comes back to. */
function everywhere(former: Connected | Reconnecting | null) {
  return {
    dial: { name: "connecting", server: TWO, former },
    arrive: ARRIVED,
    disconnect: GONE,
  } satisfies Partial<Record<Event["type"], State>>;
}

/** What each event makes of each state; an event that is not named changes nothing. */
const TABLE: Record<keyof typeof STATES, Partial<Record<Event["type"], State>>> = {
  disconnected: {
    ...everywhere(null),
    resume: { name: "reconnecting", server: TWO, session: null, dead: true, since: 9 },
  },
  failed: everywhere(null),
  connecting: { ...everywhere(null), fail: { name: "failed", server: ONE }, interrupt: GONE },
  "connecting from connected": {
    ...everywhere(CONNECTED),
    ...{ fail: CONNECTED, interrupt: CONNECTED },
    lost: { name: "connecting", server: TWO, former: LOST },
    drop: { name: "connecting", server: TWO, former: RECALLED },
  },
  "connecting from lost": {
    ...everywhere(LOST),
    ...{ fail: LOST, interrupt: LOST },
    drop: { name: "connecting", server: TWO, former: RECALLED },
  },
  "connecting from recalled": { ...everywhere(RECALLED), fail: RECALLED, interrupt: RECALLED },
  connected: { ...everywhere(CONNECTED), lost: LOST, drop: RECALLED, unanswered: UNANSWERED },
  unanswered: { ...everywhere(UNANSWERED), lost: LOST, drop: RECALLED, answered: CONNECTED },
  lost: { ...everywhere(LOST), recovered: CONNECTED, drop: RECALLED },
  recalled: everywhere(RECALLED),
};

describe.each(Object.keys(STATES) as (keyof typeof STATES)[])("a tunnel that is %s", (name) => {
  const state: State = STATES[name];

  test.each(Object.keys(EVENTS) as Event["type"][])("is as it must be after %s", (type) => {
    expect(transition(state, EVENTS[type])).toEqual(TABLE[name][type] ?? state);
  });

  test("is the very same object where an event changes nothing, so that nobody takes it for a change", () => {
    for (const [type, event] of Object.entries(EVENTS)) {
      if (TABLE[name][type as Event["type"]] === undefined) expect(transition(state, event)).toBe(state);
    }
  });
});

test("a session carries traffic while it is connected or lost, and while another server is dialled beside it", () => {
  const carried = Object.entries(STATES).filter(([, state]) => carriedBy(state) !== null);
  expect(carried.map(([name]) => name)).toEqual([
    "connecting from connected",
    "connecting from lost",
    "connected",
    "unanswered",
    "lost",
  ]);
  for (const [, state] of carried) expect(carriedBy(state)).toBe(FIRST);
});

test("a session that may work no more is doubtful until its server is known to be dead", () => {
  const doubtful = transition(CONNECTED, { type: "lost", dead: false });
  expect(doubtful).toEqual({ ...LOST, dead: false });
  expect(transition(doubtful, { type: "lost", dead: false })).toBe(doubtful);
  expect(transition(doubtful, { type: "lost", dead: true })).toEqual(LOST);
  expect(transition(doubtful, { type: "recovered" })).toMatchObject({ name: "connected", session: FIRST });
});
