import type { Exit } from "../killswitch/policy.ts";
import { exitMarkOf } from "../network/slot.ts";
import type { Session } from "../tunnel/session.ts";
import type { State } from "../tunnel/state.ts";
import type { ExitResolvers } from "./upstream.ts";

/** The tunnels, as far as questions are concerned. */
type Tunnels = { find(name: string): { controller: { state: State } } | null };

/** The resolvers of an exit and the way to them; null while it is down, or if it has no resolvers. */
export function exitResolvers(exit: Exit, tunnels: Tunnels): ExitResolvers | null {
  switch (exit.to) {
    case "blocked":
    case "direct":
      return null;
    case "tunnel":
      return tunnelResolvers(exit.name, tunnels);
  }
}

function tunnelResolvers(wanted: string, tunnels: Tunnels): ExitResolvers | null {
  const tunnel = tunnels.find(wanted);
  const session = tunnel === null ? null : liveSession(tunnel.controller.state);
  if (session === null) return null;
  const { link, mark, server } = session;
  const { dns: resolvers } = server.config.interface;
  return resolvers.length === 0 ? null : { link, mark: exitMarkOf(mark), resolvers };
}

/** The session into which traffic is routed now. */
function liveSession(state: State): Session | null {
  switch (state.name) {
    case "connected":
      return state.session;
    case "reconnecting":
      return state.dead ? null : state.session;
    case "connecting":
      return state.former === null ? null : liveSession(state.former);
    case "disconnected":
    case "failed":
      return null;
  }
}
