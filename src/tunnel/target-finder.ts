import type { Catalogue, IsMeasured } from "../servers/catalogue.ts";
import { keyedAs, keyedAsBefore, stricter } from "../servers/quantum.ts";
import type { Provider, Quantum, Transport } from "../servers/schema.ts";
import { reachedBy } from "../servers/transport.ts";
import type { OrderTarget } from "./order.ts";
import type { SavedState } from "./saved-state.ts";
import type { Target } from "./target.ts";

/** Names of a server or a place; without a provider, they are the current one's. */
export interface WantedTarget {
  server: string;
  /** Through which it is reached. */
  via?: string;
  provider?: Provider;
  /** How it is reached; `auto` if absent. */
  transport?: Transport;
}

/** What is known of the tunnel now. */
export interface KnownOfTunnel {
  name: string;
  /** Whether the round trip to a server is known. */
  isMeasured: IsMeasured;
  /** How its keys are made; undefined while there is no such tunnel. */
  quantum: Quantum | undefined;
}

interface Deps {
  catalogue: Pick<Catalogue, "find" | "findVia">;
  savedState: Pick<SavedState, "quantum">;
}

/** Finds what people have named, as a tunnel can reach it now. */
export class TargetFinder {
  constructor(private readonly deps: Deps) {}

  /** With `quantum`, the keys are made so; otherwise as before. Throws if there is no such target. */
  find(wanted: WantedTarget, tunnel: KnownOfTunnel, quantum?: Quantum): Target {
    const { server, via, provider, transport } = wanted;
    const { catalogue, savedState } = this.deps;
    const target =
      via === undefined
        ? catalogue.find(server, tunnel.isMeasured, provider)
        : catalogue.findVia(server, via, tunnel.isMeasured, provider);
    const reached = reachedBy(target, transport);
    if (quantum !== undefined) return keyedAs(reached, quantum);
    return keyedAsBefore(reached, stricter(tunnel.quantum, savedState.quantum(tunnel.name)));
  }

  /** A target that a tunnel has or had; null if it cannot be reached now. */
  found(wanted: OrderTarget, tunnel: KnownOfTunnel): Target | null {
    try {
      return this.find(wanted, tunnel);
    } catch {
      return null;
    }
  }
}
