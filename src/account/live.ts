import { accountOf } from "../servers/account.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import { storedDevice } from "../servers/device.ts";
import { MullvadApi } from "../servers/mullvad/api.ts";
import type { Provider } from "../servers/schema.ts";
import type { Store } from "../servers/store.ts";
import type { Settings } from "../settings.ts";
import type { Host, Send } from "../system/host.ts";
import type { Controller } from "../tunnel/controller.ts";
import type { Memory } from "../tunnel/memory.ts";
import { Registration } from "./registration.ts";

interface Parts {
  settings: Settings;
  host: Pick<Host, "read">;
  store: Store;
  catalogue: Pick<Catalogue, "managed">;
}

interface LiveParts extends Parts {
  controller: Pick<Controller, "state">;
  memory: Pick<Memory, "connection">;
}

/** The account of a gateway, whose changes the managed provider takes up at once. */
export function registrationIn(parts: LiveParts, send: Send): Registration {
  const { settings, store, controller, memory } = parts;
  return new Registration({
    store,
    api: new MullvadApi(settings.managedApi, send),
    // The one that is remembered comes back after a restart.
    inUse: () => [providerOf(controller), memory.connection()?.provider].includes("managed"),
    changed: () => takeUpAccount(parts),
    notice: isGiven(settings) ? OVERRULED : null,
  });
}

/** Makes the device that is in the store now the managed provider's account. */
export async function takeUpAccount({ settings, host, store, catalogue }: Parts): Promise<void> {
  catalogue.managed.useAccount(await accountOf(host, settings, storedDevice(store)));
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
