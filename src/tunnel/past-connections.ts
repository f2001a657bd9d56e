import { MAX_TUNNELS } from "../network/slot.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { FavouriteList, Provider } from "../servers/schema.ts";
import { type Last, lastWith } from "./last.ts";
import type { OrderTarget } from "./order.ts";
import type { SavedState } from "./saved-state.ts";
import type { Tunnels } from "./tunnels.ts";

interface Deps {
  savedState: Pick<SavedState, "recent" | "dropRecent" | "last" | "lasts" | "saveLast" | "quantum">;
  catalogue: Pick<Catalogue, "has" | "server" | "find" | "onChange">;
  tunnels: Pick<Tunnels, "found">;
}

/** Where the tunnels led before, as far as they can be led there again. */
export class PastConnections {
  /** By tunnel, and for what it was found: a name that is gone is compared with all others. */
  private readonly told = new Map<string, { key: string; last: Last | null }>();

  constructor(private readonly deps: Deps) {
    deps.catalogue.onChange((provider) => {
      this.told.clear();
      // The list of the VPN account's servers may be empty for a while.
      if (provider !== "managed") this.forgetGone(provider);
    });
  }

  /** The servers that `main` was connected to last and that there still are, the latest first. */
  recent(): FavouriteList["recent"] {
    const { savedState, catalogue } = this.deps;
    return savedState
      .recent()
      .filter(({ provider, name, via = name }) => [name, via].every((each) => catalogue.has(provider, each)))
      .map(({ provider, name, via, since }) => ({
        provider,
        server: name,
        ...(via !== undefined && { via }),
        at: new Date(since).toISOString(),
      }));
  }

  /** What a connect takes to lead a tunnel again to where it led last; null if nothing of that can be had now. */
  last(tunnel: string): Last | null {
    const { savedState, tunnels } = this.deps;
    const saved = savedState.last(tunnel);
    if (saved === null) return null;
    const key = JSON.stringify([saved, savedState.quantum(tunnel)]);
    const known = this.told.get(tunnel);
    if (known?.key === key) return known.last;
    const last = lastWith(saved, (target) => tunnels.found(target, tunnel) !== null);
    // Names of tunnels come and go.
    if (this.told.size >= MAX_TUNNELS) this.told.clear();
    this.told.set(tunnel, { key, last });
    return last;
  }

  /**
   * Forgets what cannot be had any more from a provider. To be called when some of that was removed for good: a server
   * that is given the same name later is another one, and nobody should read which ones were used.
   */
  forgetGone(provider: Provider): void {
    const { savedState, catalogue } = this.deps;
    for (const [tunnel, last] of savedState.lasts()) {
      const left = lastWith(last, (target) => target.provider !== provider || this.isThere(target));
      if (left?.targets.length !== last.targets.length) savedState.saveLast(tunnel, left);
    }
    savedState.dropRecent(
      ({ provider: whose, name, via }) => whose === provider && catalogue.server(whose, name, via) === null,
    );
  }

  /** Whether its servers or places are there, however the tunnel would have to reach them now. */
  private isThere({ provider, server, via = server }: OrderTarget): boolean {
    try {
      for (const name of [server, via]) this.deps.catalogue.find(name, undefined, provider);
      return true;
    } catch {
      return false;
    }
  }
}
