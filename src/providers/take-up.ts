import type { ManagedList } from "../servers/managed.ts";
import type { Updates } from "../servers/updates.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import { listSourceOf } from "./addresses.ts";
import { ownEndOf } from "./own-end.ts";
import type { Registrations } from "./registrations.ts";

interface Deps {
  settings: Settings;
  host: Pick<Host, "read">;
  registrations: Registrations;
  managed: Pick<ManagedList, "useOwnEnd">;
  updates: Pick<Updates, "useSource">;
}

/** Makes managed servers use the account in the store: its side of the tunnel, and its provider's list. */
export async function takeUpAccount(deps: Deps): Promise<void> {
  const { settings, host, registrations, managed, updates } = deps;
  const registered = registrations.current();
  managed.useOwnEnd(await ownEndOf(host, settings, registered));
  await updates.useSource(listSourceOf(settings, registered?.provider));
}
