import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { Catalogue, IsMeasured } from "../servers/catalogue.ts";
import { keyedAs, keyedAsBefore, stricter } from "../servers/quantum.ts";
import type { FavouriteList, Provider, Quantum, Transport } from "../servers/schema.ts";
import { reachedBy } from "../servers/transport.ts";
import type { Host } from "../system/host.ts";
import { CONNECT_BOUNDS_SECONDS, histogramOf, observed } from "./histogram.ts";
import type { SavedState } from "./saved-state.ts";
import type { Target } from "./target.ts";
import type { Tunnels } from "./tunnels.ts";

/** What a tunnel is to be connected to: names of a server or a place; without a provider, they are the current one's. */
export interface ConnectRequest {
  server: string;
  /** Through which it is reached. */
  via?: string;
  provider?: Provider;
  /** How it is reached; `auto` if absent. */
  transport?: Transport;
  /** Whether its keys are made safe from quantum computers; as before if absent. */
  quantum?: Quantum;
}

interface Deps {
  tunnels: Tunnels;
  catalogue: Pick<Catalogue, "find" | "findVia" | "has">;
  savedState: Pick<SavedState, "recent" | "quantum" | "saveQuantum">;
  host: Pick<Host, "monotonic">;
  log: Pick<Log, "warn">;
}

/** Connects tunnels to what people have named. */
export class ConnectRequests {
  /** How long each successful connect took, in seconds. */
  durations = histogramOf(CONNECT_BOUNDS_SECONDS);

  constructor(private readonly deps: Deps) {}

  /** Resolves after the handshake with the server, or with the nearest one of a place. Makes the tunnel if there is none. */
  async connect(request: ConnectRequest, name: string = MAIN): Promise<void> {
    const { tunnels, savedState, host, log } = this.deps;
    // A name that is not a server's must not leave a new tunnel behind.
    this.targetOf(request, name);
    const tunnel = await tunnels.opened(name);
    const start = host.monotonic();
    await tunnel.controller.connect(this.targetOf(request, name)).catch(async (error: unknown) => {
      await tunnels.dropUnused(tunnel).catch((why: unknown) => log.warn(`${name}: ${messageOf(why)}`));
      throw error;
    });
    if (request.quantum !== undefined) savedState.saveQuantum(request.quantum, name);
    this.durations = observed(this.durations, (host.monotonic() - start) / 1000);
  }

  /** The servers that `main` was connected to last and that there still are, the latest first. */
  recent(): FavouriteList["recent"] {
    const { catalogue, savedState } = this.deps;
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

  private targetOf({ server, via, provider, transport, quantum }: ConnectRequest, name: string): Target {
    const { catalogue, tunnels, savedState } = this.deps;
    const isMeasured: IsMeasured = (...which) => tunnels.roundTrips.has(...which);
    const target =
      via === undefined
        ? catalogue.find(server, isMeasured, provider)
        : catalogue.findVia(server, via, isMeasured, provider);
    const reached = reachedBy(target, transport);
    if (quantum !== undefined) return keyedAs(reached, quantum);
    const tunnel = tunnels.all().find((each) => each.name === name);
    return keyedAsBefore(reached, stricter(tunnel?.controller.quantum, savedState.quantum(name)));
  }
}
