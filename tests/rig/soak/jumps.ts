import type { Clock } from "../tools/clock.ts";
import type { Disturbance, Kind } from "./disturbances.ts";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
const FORWARD_S = [MINUTE_S, HOUR_S, 30 * HOUR_S, 400 * DAY_S];
const BACK_S = [MINUTE_S, HOUR_S, 30 * HOUR_S];
/** The clock stays before 2038, where seconds no longer fit into 32 bits. */
const FURTHEST_S = 3_000 * DAY_S;
/** Longest that the clock is behind. */
const BEHIND_MS = 4_000;

/**
 * The wall clock jumps forward, or back for a moment: only for moments, because a server refuses a handshake from the past
 * (WireGuard white paper, section 5.1).
 */
export function jumpsOf(clock: Clock): Kind {
  return (pick, random) =>
    random() < 0.5
      ? forward(clock, pick(FORWARD_S.filter((seconds) => clock.aheadS + seconds < FURTHEST_S)))
      : backward(clock, pick(BACK_S), BEHIND_MS * random());
}

function forward(clock: Clock, seconds: number): Disturbance {
  return {
    what: "jumps of the clock",
    title: `the clock jumps ${seconds} s forward`,
    run: async () => clock.advance(seconds),
  };
}

function backward(clock: Clock, seconds: number, ms: number): Disturbance {
  return {
    what: "jumps of the clock",
    title: `the clock jumps ${seconds} s back, for ${ms.toFixed(0)} ms`,
    run: async () => {
      clock.advance(-seconds);
      await Bun.sleep(ms);
      clock.advance(seconds);
    },
  };
}
