import type { Provider } from "../servers/schema.ts";
import type { Controller } from "../tunnel/controller.ts";
import type { SavedState } from "../tunnel/saved-state.ts";

interface Deps {
  controller: Pick<Controller, "state">;
  savedState: Pick<SavedState, "connection">;
}

/** Whether a tunnel to a managed server is up, is being brought up, or comes back after a restart. */
export function isManagedInUse({ controller, savedState }: Deps): boolean {
  return [providerOf(controller), savedState.connection()?.provider].includes("managed");
}

/** The provider of the server that the tunnel uses or will use. */
function providerOf({ state }: Deps["controller"]): Provider | null {
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
