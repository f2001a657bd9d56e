import type { Settings } from "../base/settings.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Updates } from "../servers/updates.ts";
import type { Host } from "../system/host.ts";
import { listSourceOf } from "./given.ts";
import { ownEndOf } from "./own-end.ts";
import type { Registrations } from "./registrations.ts";

interface Deps {
  settings: Settings;
  host: Pick<Host, "read">;
  registrations: Registrations;
  catalogue: Pick<Catalogue, "useOwnEnd">;
  updates: Pick<Updates, "useSource">;
}

/** Makes managed servers use the account in the store: its side of the tunnel, and its provider's list. */
export async function applyAccount(deps: Deps): Promise<void> {
  const { settings, host, registrations, catalogue, updates } = deps;
  const current = registrations.current();
  catalogue.useOwnEnd(await ownEndOf(host, settings, current));
  await updates.useSource(listSourceOf(settings, current.provider));
}
