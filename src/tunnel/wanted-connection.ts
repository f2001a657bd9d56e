import type { Slot } from "../network/slot.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Connection } from "./connection.ts";
import type { SavedState } from "./saved-state.ts";
import { connectionTo, isTo, type Places, type Words } from "./target.ts";

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

  /** The places that were requested, as they are saved with the server. */
  get places(): Places {
    const { wanted, wanted_via } = this.connection ?? {};
    return { ...(wanted !== undefined && { wanted }), ...(wanted_via !== undefined && { wanted_via }) };
  }

  /** The target in the words of the client. */
  get words(): (Words & { provider: Provider }) | null {
    if (this.connection === null) return null;
    const { provider, name, wanted = name, via, wanted_via = via, transport, quantum } = this.connection;
    return {
      ...{ provider, server: wanted },
      ...(wanted_via !== undefined && { via: wanted_via }),
      ...(transport !== undefined && { transport }),
      ...(quantum !== undefined && { quantum }),
    };
  }

  /** Records a server that the tunnel already leads to. */
  adopt(server: Server): void {
    const { saved } = this;
    this.connection =
      saved !== null && isTo(saved, server) ? saved : connectionTo(server, this.deps.host.now());
  }

  /** Returns to the saved target. */
  resume(): void {
    this.connection = this.saved;
  }

  /** `since` is in milliseconds since 1970; `places` are the countries and cities that were requested, if any. */
  set(server: Server, since: number, places: Places): void {
    this.connection = connectionTo(server, since, places);
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
