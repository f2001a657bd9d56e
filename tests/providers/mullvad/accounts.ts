import { settingsFrom } from "../../../src/base/settings.ts";
import { Accounts } from "../../../src/providers/accounts.ts";
import { Registrations } from "../../../src/providers/registrations.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Send } from "../../../src/system/host.ts";
import { BASE } from "./provider.ts";

interface Surroundings {
  inUse?: () => boolean;
  takeUp?: () => Promise<void>;
}

/** The Mullvad account of a gateway with this store. */
export function mullvadAccount(store: Store, send: Send, surroundings: Surroundings = {}) {
  const settings = settingsFrom({ managedApi: BASE });
  const { inUse = () => false, takeUp = async () => {} } = surroundings;
  const registrations = new Registrations(store, settings);
  const accounts = new Accounts({
    settings,
    store,
    registrations,
    send,
    clock: { now: Date.now, monotonic: () => 0 },
    inUse,
    apply: takeUp,
    ...{ alarm: () => {}, past: { forgetGone: () => {} }, events: { publish: () => {} } },
  });
  return {
    logIn: (number: string) => accounts.logIn("mullvad", [number]),
    show: () => accounts.show(null),
    rotateKey: () => accounts.rotateKey(null),
    beside: <T>(work: () => Promise<T>) => accounts.beside(work),
    logOut: (forget: boolean) => accounts.logOut(null, forget),
  };
}
