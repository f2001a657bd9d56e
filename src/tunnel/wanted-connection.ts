import type { Slot } from "../network/slot.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Connection } from "./connection.ts";
import type { OrderTarget } from "./order.ts";
import type { SavedState } from "./saved-state.ts";
import { type Asked, connectionTo, isTo, leadsTo, placesIn, type Target, type TargetSpec } from "./target.ts";

interface Deps {
  host: Pick<Host, "now">;
  savedState: Pick<SavedState, "connection" | "saveConnection">;
  /** The tunnel's name. */
  name: string;
  slot: Slot;
}

/** The target of a tunnel, to which a start returns: a connection, or nothing. */
export class WantedConnection {
  private connection: Connection | null = null;

  constructor(private readonly deps: Deps) {}

  /** The target on the disk. */
  get saved(): Connection | null {
    return this.deps.savedState.connection(this.deps.name);
  }

  /** What was requested, as it is saved with the server. */
  get asked(): Asked {
    const { wanted, wanted_via, order } = this.connection ?? {};
    return {
      ...(wanted !== undefined && { wanted }),
      ...(wanted_via !== undefined && { wanted_via }),
      ...(order !== undefined && { order }),
    };
  }

  /** The target as clients name it. */
  get spec(): (TargetSpec & { provider: Provider }) | null {
    if (this.connection === null) return null;
    const { provider, name, wanted = name, via, wanted_via = via, transport, quantum } = this.connection;
    return {
      ...{ provider, server: wanted },
      ...(wanted_via !== undefined && { via: wanted_via }),
      ...(transport !== undefined && { transport }),
      ...(quantum !== undefined && { quantum }),
    };
  }

  /** Records a server that the tunnel already leads to. `found` is how a target of an order can be reached now. */
  adopt(server: Server, found: (wanted: OrderTarget) => Target | null): void {
    const { saved } = this;
    this.connection =
      saved !== null && isTo(saved, server)
        ? saved
        : connectionTo(server, this.deps.host.now(), orderWith(server, saved, found));
  }

  /** Returns to the saved target. */
  resume(): void {
    this.connection = this.saved;
  }

  /** `since` is in milliseconds since 1970. */
  set(server: Server, since: number, asked: Asked): void {
    this.connection = connectionTo(server, since, asked);
  }

  /** Another order, of which the present target is a part, or none. */
  reorder(asked: Asked): void {
    if (this.connection === null) return;
    const { wanted: _, wanted_via: __, order: ___, ...connection } = this.connection;
    this.connection = { ...connection, ...asked };
  }

  clear(): void {
    this.connection = null;
  }

  save(): void {
    this.deps.savedState.saveConnection(this.connection, this.deps.name, this.deps.slot.number);
  }

  /** Saves it unless it is already on the disk. */
  saveIfChanged(): void {
    if (!Bun.deepEquals(this.connection, this.saved)) this.save();
  }
}

/** The saved order if the server is of one of its targets: a move in it was interrupted before it was saved. */
function orderWith(
  server: Server,
  saved: Connection | null,
  found: (wanted: OrderTarget) => Target | null,
): Asked {
  for (const [at, wanted] of saved?.order?.targets.entries() ?? []) {
    const target = found(wanted);
    if (saved?.order && target !== null && leadsTo(target, server))
      return { ...placesIn(target), order: { ...saved.order, at } };
  }
  return {};
}
