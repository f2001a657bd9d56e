import { lineOf } from "../base/log.ts";
import { isUnanswered, type State } from "../tunnel/state.ts";
import type { Journal } from "./journal.ts";
import type { NewJournalEntry } from "./schema.ts";

/** It may quote what a tool of the kernel has printed. */
const MAX_ERROR_CHARACTERS = 1_000;

type TunnelState = Extract<NewJournalEntry, { type: "tunnel_state" }>;

/**
 * Writes a tunnel's changes of state into the journal. States on the way to another one are left out. So are tunnels
 * that `exists` does not know yet, because a new one that reaches no server is removed again.
 */
export function journalOf(tunnel: string, journal: Pick<Journal, "add">, exists: () => boolean = () => true) {
  let last: TunnelState | null = null;
  let isKnown = false;
  return (state: State, error: string | null): void => {
    isKnown ||= exists();
    if (state.name === "connecting" || !isKnown) return;
    const happening = happeningOf(tunnel, state, error);
    if (!Bun.deepEquals(happening, last)) journal.add(happening);
    last = happening;
  };
}

function happeningOf(
  tunnel: string,
  state: Exclude<State, { name: "connecting" }>,
  error: string | null,
): TunnelState {
  const server =
    state.name === "disconnected" ? null : state.name === "connected" ? state.session.server : state.server;
  const { name = "", location = "", via } = server ?? {};
  const through = via === undefined ? {} : { via: via.name };
  const unanswered = isUnanswered(state) ? { unanswered: true } : {};
  const moved = state.name === "connected" && state.moved !== undefined ? { moved: state.moved } : {};
  return {
    type: "tunnel_state",
    tunnel,
    state: state.name,
    server: name,
    location,
    ...through,
    error: error === null ? null : lineOf(error, MAX_ERROR_CHARACTERS),
    ...unanswered,
    ...moved,
  };
}
