import type { Server } from "../servers/schema.ts";
import type { Session } from "./session.ts";

/** Where the tunnel stands. `since` is the monotone clock's time of the first handshake, in milliseconds. */
export type State =
  | { name: "disconnected" }
  | { name: "connecting"; server: Server; former: Carrying | null }
  | Carrying
  | { name: "failed"; server: Server };

/** A session that routes and firewall lead into, alive or hoped for. */
export interface Carrying {
  name: "connected" | "reconnecting";
  session: Session;
  /** Milliseconds since 1970. */
  since: number;
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
