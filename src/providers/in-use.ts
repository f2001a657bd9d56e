import type { Provider } from "../servers/schema.ts";
import type { Controller } from "../tunnel/controller.ts";
import type { SavedState } from "../tunnel/saved-state.ts";

interface Tunnel {
  name: string;
  controller: Pick<Controller, "state">;
}

/** Whether a tunnel to a managed server is up, is being brought up, or comes back after a restart. */
export function isManagedInUse(
  tunnels: readonly Tunnel[],
  savedState: Pick<SavedState, "connection">,
): boolean {
  return tunnels
    .flatMap(({ name, controller }) => [providerOf(controller), savedState.connection(name)?.provider])
    .includes("managed");
}

/** The provider of the server that the tunnel uses or will use. */
function providerOf({ state }: Tunnel["controller"]): Provider | null {
  switch (state.name) {
    case "disconnected":
    case "failed":
      return null;
    case "connected":
      return state.session.server.provider;
    case "connecting":
    case "reconnecting":
      return state.server.provider;
  }
}
