import { Value } from "typebox/value";
import type { Endpoint } from "../base/address.ts";
import { nameIn } from "../base/name.ts";
import { SavedChoice } from "../base/saved.ts";
import { MAX_SERVERS } from "../shared/config-files.ts";
import { parseConfig } from "../wireguard/config.ts";
import type { Config } from "../wireguard/schema.ts";
import { customServer, whereIn } from "./custom.ts";
import { areFit, exitFault, type Hops, pairOf, reachedVia } from "./hops.ts";
import { likeliest } from "./likeness.ts";
import type { List } from "./lists/list.ts";
import type { ManagedList, OwnEnd } from "./managed.ts";
import { isIn, MAX_OFFERED, type Place, spotNamed, spread } from "./place.ts";
import { refused } from "./refusals.ts";
import { MAX_STORED_BYTES, sizeOf, sizeOfAll } from "./room.ts";
import {
  type CustomServer,
  type ImportedConfig,
  Provider,
  type Server,
  type ServerTree,
  type Stored,
} from "./schema.ts";
import type { Storage } from "./storage.ts";
import { type Listed, listed, treeOf } from "./tree.ts";

/** Throws if a configuration conflicts with the machine's current network. */
export type Refusal = (config: Config) => void;

/** Whether the round trip to a server is known, through another one if `via` is given. */
export type IsMeasured = (provider: Provider, name: string, via?: string) => boolean;

/** A country or city as a client named it. */
type NamedSpot = Omit<Place, "servers">;

type Test = (server: Listed) => boolean;

/** The current provider. */
export const CURRENT_PROVIDER = new SavedChoice("provider", "provider", "managed", (text) =>
  Value.Check(Provider, text),
);

/** The servers of the three providers, and which provider is current. */
export class Catalogue {
  private readonly stored: Record<Stored, Map<string, Server>> = { custom: new Map(), imported: new Map() };
  /** The size of all stored servers. */
  private bytes = 0;
  private readonly useListeners: (() => void)[] = [];
  private readonly listeners: ((provider: Provider, count: number) => void)[] = [];
  private provider: Provider;
  /** Null after a change, until the next request. */
  private cachedTree: ReturnType<Catalogue["tree"]> | null = null;

  constructor(
    private readonly store: Pick<Storage, "servers" | "insert" | "place" | "remove" | "read" | "write">,
    readonly managed: ManagedList,
  ) {
    this.provider = this.load();
  }

  /** Reads the store again, after it was changed from outside the catalogue. */
  reload(): void {
    this.provider = this.load();
    for (const provider of ["custom", "imported"] as const) this.notify(provider);
    for (const listener of this.useListeners) listener();
  }

  current(): Provider {
    return this.provider;
  }

  use(provider: Provider): void {
    if (provider !== this.provider) {
      CURRENT_PROVIDER.write(this.store, provider);
      this.provider = provider;
      this.cachedTree = null;
    }
    for (const listener of this.useListeners) listener();
  }

  /** The servers of a provider that can be connected to; the managed ones need an account. */
  servers(provider: Provider = this.provider): Server[] {
    return provider === "managed" ? this.managed.servers() : [...this.stored[provider].values()];
  }

  /** How many servers of each provider can be connected to. */
  usable(): Record<Provider, number> {
    const { custom, imported } = this.stored;
    return { managed: this.managed.usable(), custom: custom.size, imported: imported.size };
  }

  /** Returns the same object until something in it changes. */
  tree(): { servers: ServerTree; provider: Provider } {
    this.cachedTree ??= { servers: treeOf(this.listed()), provider: this.provider };
    return this.cachedTree;
  }

  /** The servers of all providers, to recognize the server of a live tunnel. */
  all(): Server[] {
    return [...this.servers("managed"), ...this.servers("custom"), ...this.servers("imported")];
  }

  /**
   * A provider's server of that name, or else the country or city of that name with a few of its servers: all whose
   * round trip is known, and a random selection of the others.
   */
  find(name: string, isMeasured: IsMeasured = () => false, provider = this.provider): Server | Place {
    const found = this.named("server", name, provider);
    if (isServer(found)) return found;
    return this.placeAt(found, { isMeasured: (each) => isMeasured(provider, each.name) });
  }

  /**
   * The same, reached through another server of the provider, or through the nearest one of a country or city. Throws
   * `bad_request` if the two cannot be combined.
   */
  findVia(
    name: string,
    via: string,
    isMeasured: IsMeasured = () => false,
    provider = this.provider,
  ): Server | Hops {
    const [exit, entry] = [this.named("server", name, provider), this.named("via", via, provider)];
    if (isServer(exit) && isServer(entry)) return reachedVia(exit, entry);
    const exits = isServer(exit) ? exit : this.exitsIn(exit, entry, isMeasured);
    const entries = isServer(entry) ? entry : this.entriesIn(entry, exits, isMeasured);
    return { name, provider, exit: exits, entry: entries };
  }

  /** Null if there is no such server, no account for it, or it cannot be reached through `via`. */
  server(provider: Provider, name: string, via?: string): Server | null {
    const server =
      provider === "managed" ? this.managed.server(name) : (this.stored[provider].get(name) ?? null);
    if (via === undefined || server === null) return server;
    const entry = this.server(provider, via);
    return entry && pairOf(server, entry);
  }

  /** The server, with the entry through which it is reached if a session with it has this endpoint. */
  reachedAt(server: Server, { address, port }: Endpoint): Server {
    if (server.registers) return server;
    const isThere = ({ config: { peer } }: Server) =>
      peer.endpoint.host === address && peer.endpoint.port === port;
    const direct = this.server(server.provider, server.name) ?? server;
    const ways = () => this.servers(server.provider).flatMap((entry) => pairOf(direct, entry) ?? []);
    // If the list has changed since, possibly no endpoint matches.
    return [server, direct].find(isThere) ?? ways().find(isThere) ?? server;
  }

  /** Whether clients see a server of that name. A managed one may need an account before it can be used. */
  has(provider: Provider, name: string): boolean {
    return provider === "managed" ? this.managed.has(name) : this.stored[provider].has(name);
  }

  addCustom(body: CustomServer, refuseUnusable: Refusal = () => {}): void {
    const server = customServer(body);
    refuseUnusable(server.config);
    this.add("custom", server);
  }

  remove(provider: Stored, name: string): void {
    const server = this.stored[provider].get(nameIn("name", name)) ?? notFound("name", provider);
    this.store.remove(provider, name);
    this.stored[provider].delete(name);
    this.bytes -= sizeOf(server);
    this.notify(provider);
  }

  /** Returns warnings about settings of the file that have no effect. */
  importConfig(body: ImportedConfig, refuseUnusable: Refusal = () => {}): string[] {
    const name = nameIn("name", body.name);
    const { config, warnings } = parseConfig(body.config);
    refuseUnusable(config);
    this.add("imported", {
      name,
      provider: "imported",
      label: "Imported",
      ...whereIn(body.location),
      config,
    });
    return warnings;
  }

  /** Says where an imported server is. A tunnel that leads there says so from its next connection on. */
  placeImported(name: string, location: string): void {
    const server = this.stored.imported.get(nameIn("name", name)) ?? notFound("name", "imported");
    const placed = { ...server, ...whereIn(location) };
    const bytes = this.bytesWith(sizeOf(placed) - sizeOf(server));
    this.store.place(placed);
    this.stored.imported.set(server.name, placed);
    this.bytes = bytes;
    this.notify("imported");
  }

  /** Calls the listener when a provider has been made the current one. */
  onUse(listener: () => void): void {
    this.useListeners.push(listener);
  }

  /** Calls the listener when the list of a provider has changed, with the number of its servers. */
  onChange(listener: (provider: Provider, count: number) => void): void {
    this.listeners.push(listener);
  }

  /** Replaces the list of the managed provider; false if the servers are the same. */
  relist(list: List): boolean {
    const changed = this.managed.take(list);
    if (changed) this.notify("managed");
    return changed;
  }

  /** Replaces the gateway's own end of tunnels to managed servers, after a change of the account. */
  useOwnEnd(ownEnd: OwnEnd): void {
    this.managed.useOwnEnd(ownEnd);
    this.notify("managed");
  }

  /** Loads the managed provider's list from another source, or the one that was last fetched from there. */
  async reloadManaged(...[host, source, store]: Parameters<ManagedList["load"]>): Promise<void> {
    await this.managed.load(host, source, store);
    this.notify("managed");
  }

  /** Countries, cities, and the names of servers if there are few. */
  private places(provider: Provider): Set<string> {
    const names = provider === "managed" ? [] : this.stored[provider].keys();
    return new Set([...this.listed(provider).flatMap(({ country, city }) => [country, city]), ...names]);
  }

  /** Messages call the name `field`. */
  private named(field: "server" | "via", name: string, provider: Provider): Server | NamedSpot {
    const key = nameIn(field, name);
    const server = this.lookUp(provider, key);
    if (server !== null) return server;
    const spot = spotNamed(key, this.listed(provider), field);
    if (spot !== null) return { ...spot, name, provider };
    const meant = likeliest(key, this.places(provider));
    return notFound(field, provider, "place", meant);
  }

  private exitsIn(spot: NamedSpot, entry: Server | NamedSpot, isMeasured: IsMeasured): Place {
    const via = isServer(entry) ? entry.name : undefined;
    const exits = this.placeAt(spot, {
      isMeasured: (each) => isMeasured(spot.provider, each.name, via),
      fits: (each) => (isServer(entry) ? areFit(each, entry) : exitFault(each) === null),
    });
    if (exits.servers.length > 0) return exits;
    throw refused("place_without_exit", { place: spot.name });
  }

  private entriesIn(spot: NamedSpot, exit: Server | Place, isMeasured: IsMeasured): Place {
    const exits = "servers" in exit ? exit.servers : [exit];
    const entries = this.placeAt(spot, {
      isMeasured: (each) => isMeasured(spot.provider, each.name),
      fits: (each) => exits.some((one) => areFit(one, each)),
    });
    if (entries.servers.length > 0) return entries;
    const fault = "servers" in exit ? null : exitFault(exit);
    throw fault ?? refused("place_without_entry", { place: spot.name, server: exit.name });
  }

  /** A place with as many of its servers as fit: all whose round trip is known, and a random selection of the others. */
  private placeAt(
    spot: NamedSpot,
    { isMeasured, fits = () => true }: Record<"isMeasured", Test> & { fits?: Test },
  ): Place {
    const { provider } = spot;
    const all = Map.groupBy(
      this.listed(provider).filter((each) => isIn(spot, each) && fits(each)),
      isMeasured,
    );
    const some = [...(all.get(true) ?? []), ...spread(all.get(false) ?? [], MAX_OFFERED)];
    return { ...spot, servers: some.flatMap((each) => this.lookUp(provider, each.name) ?? []) };
  }

  /** Null if there is no such server. Throws `bad_request` without an account for it. */
  private lookUp(provider: Provider, name: string): Server | null {
    return provider === "managed" ? this.managed.find(name) : this.server(provider, name);
  }

  private add(provider: Stored, server: Server): void {
    const servers = this.stored[provider];
    if (servers.has(server.name)) throw refused("server_name_taken");
    if (servers.size >= MAX_SERVERS) throw refused("servers_full", { of: provider, max: MAX_SERVERS });
    const bytes = this.bytesWith(sizeOf(server));
    this.store.insert(server);
    servers.set(server.name, server);
    this.bytes = bytes;
    this.notify(provider);
  }

  private bytesWith(more: number): number {
    const bytes = this.bytes + more;
    if (more > 0 && bytes > MAX_STORED_BYTES) throw refused("servers_too_large", { max: MAX_STORED_BYTES });
    return bytes;
  }

  /** Reads the stored servers; returns the current provider. */
  private load(): Provider {
    for (const servers of Object.values(this.stored)) servers.clear();
    for (const server of this.store.servers()) {
      if (server.provider !== "managed") this.stored[server.provider].set(server.name, server);
    }
    this.bytes = sizeOfAll([...this.stored.custom.values(), ...this.stored.imported.values()]);
    const current = CURRENT_PROVIDER.read(this.store);
    return Value.Check(Provider, current) ? current : "managed";
  }

  private notify(provider: Provider): void {
    this.cachedTree = null;
    const count = provider === "managed" ? this.managed.listed().length : this.stored[provider].size;
    for (const listener of this.listeners) listener(provider, count);
  }

  private listed(provider = this.provider): Listed[] {
    return provider === "managed" ? this.managed.listed() : this.servers(provider).map(listed);
  }
}

function isServer(found: Server | NamedSpot): found is Server {
  return "config" in found;
}

/** 404 is for the subject of the request; a wrong `via` is a bad request. */
function notFound(
  field: string,
  provider: Provider,
  kind: "server" | "place" = "server",
  meant: string | null = null,
): never {
  const code = field === "via" ? "bad_request" : "not_found";
  throw refused("server_unknown", { field, kind, of: provider, meant: meant ?? "none" }, { code });
}
