import { type Hops, pairOf, placeVia, reachedVia } from "../servers/hops.ts";
import type { Place } from "../servers/place.ts";
import type { Server } from "../servers/schema.ts";
import type { PreviousSession } from "./dialer.ts";
import type { KeyConflicts } from "./key-conflicts.ts";
import type { Probe } from "./probe.ts";
import { candidatesOf, exitOf, isHops, isPlace, type Target } from "./target.ts";

interface Deps {
  probe: Pick<Probe, "nearest">;
  keyConflicts: KeyConflicts;
}

/** Chooses the server that a tunnel dials. It must not be in use by another tunnel with the same key. */
export class ServerPicker {
  constructor(private readonly deps: Deps) {}

  /** A server that stands for the target until one is chosen; undefined if the target has none. */
  first(wanted: Target): Server | undefined {
    const exits = candidatesOf(this.deps.keyConflicts.without(exitOf(wanted)));
    if (!isHops(wanted)) return exits[0];
    const entries = candidatesOf(wanted.entry);
    const pairs = exits.values().flatMap((exit) => entries.map((entry) => pairOf(exit, entry)));
    return pairs.find((pair) => pair !== null) ?? undefined;
  }

  /** Chooses the entry first, by its own round trip. The round trip of an exit is measured through it. */
  async nearest(wanted: Place | Hops, former: PreviousSession | null, signal: AbortSignal): Promise<Server> {
    const { probe, keyConflicts } = this.deps;
    if (isPlace(wanted)) return probe.nearest(keyConflicts.without(wanted), former, signal);
    const { exit, entry } = wanted;
    const nearest = isPlace(entry) ? await probe.nearest(entry, former, signal) : entry;
    if (!isPlace(exit)) return reachedVia(exit, nearest);
    return probe.nearest(keyConflicts.without(placeVia(exit, nearest)), former, signal);
  }
}
