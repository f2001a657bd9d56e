import type { Catalogue } from "../../servers/catalogue.ts";
import type { Provider } from "../../servers/schema.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store/store.ts";
import type { Host, Send } from "../../system/host.ts";
import type { Controller } from "../../tunnel/controller.ts";
import type { SavedState } from "../../tunnel/saved-state.ts";
import { accountOf } from "../account.ts";
import { ManagedAccount } from "./account.ts";
import { MullvadApi } from "./api.ts";
import { storedRegistration } from "./registration.ts";

interface Deps {
  settings: Settings;
  host: Pick<Host, "read">;
  store: Store;
  catalogue: Pick<Catalogue, "managed">;
}

interface LiveDeps extends Deps {
  controller: Pick<Controller, "state">;
  savedState: Pick<SavedState, "connection">;
}

/** The account of a gateway, whose changes the managed provider takes up at once. */
export function managedAccountIn(deps: LiveDeps, send: Send): ManagedAccount {
  const { settings, store, controller, savedState } = deps;
  return new ManagedAccount({
    store,
    api: new MullvadApi(settings.managedApi, send),
    // The one that is remembered comes back after a restart.
    inUse: () => [providerOf(controller), savedState.connection()?.provider].includes("managed"),
    changed: () => takeUpAccount(deps),
    notice: isGiven(settings) ? OVERRULED : null,
  });
}

/** Makes the device that is in the store now the managed provider's account. */
export async function takeUpAccount({ settings, host, store, catalogue }: Deps): Promise<void> {
  catalogue.managed.useAccount(await accountOf(host, settings, storedRegistration(store)));
}

const OVERRULED =
  "the settings name another account, which is used instead: --managed-key-file and --managed-address";

function isGiven({ managedKeyFile, managedAddress }: Settings): boolean {
  return managedKeyFile !== null || managedAddress.trim() !== "";
}

/** The provider of the server that there is a tunnel to, or is to be one. */
function providerOf({ state }: Pick<Controller, "state">): Provider | null {
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
