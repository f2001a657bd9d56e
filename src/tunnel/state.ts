import type { Static } from "typebox";
import { enumOf } from "../base/enum.ts";
import type { Server } from "../servers/schema.ts";
import type { Moved } from "./moved.ts";
import type { Session } from "./session.ts";

export const StateName = enumOf(["disconnected", "connecting", "connected", "reconnecting", "failed"], {
  description:
    "`reconnecting` while its server is tried until it answers; `failed` after a connect that did not succeed",
});
export type StateName = Static<typeof StateName>;
export const STATES: readonly StateName[] = StateName.anyOf.map((each) => each.const);

/** The state of a tunnel. */
export type State =
  | { name: "disconnected" }
  | { name: "connecting"; server: Server; former: Connected | Reconnecting | null }
  | Connected
  | Reconnecting
  | { name: "failed"; server: Server };

/** Traffic is routed into a session whose server answers. */
export interface Connected {
  name: "connected";
  session: Session;
  /** When this server first answered, in milliseconds on the monotonic clock. */
  since: number;
  /** Since when it is known that only handshakes come back for sent data; null if that is not the case. */
  unanswered: number | null;
  /** Why it has just moved here by itself, if it has. */
  moved?: Moved;
}

/** The server is tried until it answers. Without a session, everything is blocked meanwhile. */
export interface Reconnecting {
  name: "reconnecting";
  server: Server;
  session: Session | null;
  /** Whether its server is known not to answer. Then no traffic is routed into the session. */
  dead: boolean;
  since: number;
}

/** Everything that can happen to a tunnel. */
export type Event =
  /** A connect was requested. */
  | { type: "dial"; server: Server }
  /** A session has completed its handshake, and traffic is routed into it. */
  | { type: "arrive"; session: Session; since: number; moved?: Moved }
  /** The dial failed. */
  | { type: "fail" }
  /** Another connect or a disconnect came during a dial. */
  | { type: "interrupt" }
  /** The session is dead, or may no longer work. */
  | { type: "lost"; dead: boolean }
  /** The session can no longer be used: no traffic passes until another one is up. */
  | { type: "drop" }
  /** The session that was thought to be dead answers. */
  | { type: "recovered" }
  /** Data goes out, and only handshakes come back. */
  | { type: "unanswered"; since: number }
  /** Data comes back again. */
  | { type: "answered" }
  /** The service starts and returns to its last server. */
  | { type: "resume"; server: Server; since: number }
  | { type: "disconnect" };

/** The next state. An event that has no meaning in a state changes nothing. */
export function transition(state: State, event: Event): State {
  // A former tunnel can be lost during a dial.
  if (state.name === "connecting" && (event.type === "lost" || event.type === "drop")) {
    const former = state.former && formerOf(transition(state.former, event));
    return former === state.former ? state : { ...state, former };
  }
  switch (event.type) {
    case "dial":
      return { name: "connecting", server: event.server, former: formerOf(state) };
    case "arrive":
      return connectedBy(event);
    case "fail":
      return state.name === "connecting" ? (state.former ?? { name: "failed", server: state.server }) : state;
    case "interrupt":
      return state.name === "connecting" ? (state.former ?? { name: "disconnected" }) : state;
    case "lost":
      if (state.name === "connected") {
        const { session, since } = state;
        return { name: "reconnecting", server: session.server, session, dead: event.dead, since };
      }
      return state.name === "reconnecting" && event.dead && !state.dead ? { ...state, dead: true } : state;
    case "drop":
      if (state.name === "connected") {
        const { session, since } = state;
        return { name: "reconnecting", server: session.server, session: null, dead: true, since };
      }
      return state.name === "reconnecting" && state.session !== null
        ? { ...state, session: null, dead: true }
        : state;
    case "recovered":
      return state.name === "reconnecting" && state.session !== null
        ? { name: "connected", session: state.session, since: state.since, unanswered: null }
        : state;
    case "unanswered":
      return state.name === "connected" && !isUnanswered(state)
        ? { name: "connected", session: state.session, since: state.since, unanswered: event.since }
        : state;
    case "answered":
      return isUnanswered(state) ? { ...state, unanswered: null } : state;
    case "resume":
      return state.name === "disconnected"
        ? { name: "reconnecting", server: event.server, session: null, dead: true, since: event.since }
        : state;
    case "disconnect":
      return { name: "disconnected" };
  }
}

/** Whether a live session carries nothing: its server answers handshakes, but no data that is sent through it. */
export function isUnanswered(state: State): state is Connected & { unanswered: number } {
  return state.name === "connected" && state.unanswered !== null;
}

/** The session of a tunnel that is connected; null in all other states. */
export function liveIn(state: State): Session | null {
  return state.name === "connected" ? state.session : null;
}

/** The session that carries traffic in a state, if any. */
export function carriedBy(state: State): Session | null {
  switch (state.name) {
    case "connected":
    case "reconnecting":
      return state.session;
    case "connecting":
      return state.former?.session ?? null;
    case "disconnected":
    case "failed":
      return null;
  }
}

function connectedBy({ session, since, moved }: Extract<Event, { type: "arrive" }>): Connected {
  return { name: "connected", session, since, unanswered: null, ...(moved !== undefined && { moved }) };
}

/** The state to return to if a dial fails. */
function formerOf(state: State): Connected | Reconnecting | null {
  switch (state.name) {
    case "connected":
    case "reconnecting":
      return state;
    case "connecting":
      return state.former;
    case "disconnected":
    case "failed":
      return null;
  }
}
