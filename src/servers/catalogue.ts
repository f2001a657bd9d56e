import { Value } from "typebox/value";
import { GatewayError } from "../errors.ts";
import { nameIn } from "../name.ts";
import { parseConfig } from "../wireguard/config.ts";
import type { Config } from "../wireguard/schema.ts";
import { customServer } from "./custom.ts";
import type { List } from "./lists/list.ts";
import type { ManagedList, OwnEnd } from "./managed.ts";
import { isIn, MOST_OFFERED, type Place, spotNamed, spread } from "./place.ts";
import { MOST_SERVERS, MOST_STORED_BYTES, sizeOf, sizeOfAll } from "./room.ts";
import {
  type CustomServer,
  type ImportedConfig,
  Provider,
  type Server,
  type ServerTree,
  type Stored,
} from "./schema.ts";
import type { Storage } from "./storage.ts";
import { type Listed, listed, placeOf, treeOf } from "./tree.ts";

/** Throws if a configuration conflicts with the machine's current network. */
export type Refusal = (config: Config) => void;

/** The setting in which the current provider is kept. */
const CURRENT = "provider";

/** The servers of the three providers, and which provider is current. */
export class Catalogue {
  private readonly stored: Record<Stored, Map<string, Server>> = { custom: new Map(), imported: new Map() };
  /** The size of all stored servers. */
  private bytes = 0;
  private readonly listeners: ((provider: Provider, count: number) => void)[] = [];
  private provider: Provider;
  /** Null after a change, until the next request. */
  private cachedTree: ReturnType<Catalogue["tree"]> | null = null;

  constructor(
    private readonly store: Pick<Storage, "servers" | "insert" | "remove" | "read" | "write">,
    readonly managed: ManagedList,
  ) {
    this.provider = this.load();
  }

  /** Reads the store again, after it was changed from outside the catalogue. */
  reload(): void {
    this.provider = this.load();
    for (const provider of ["custom", "imported"] as const) this.notify(provider);
  }

  current(): Provider {
    return this.provider;
  }

  use(provider: Provider): void {
    if (provider === this.provider) return;
    this.store.write(CURRENT, provider);
    this.provider = provider;
    this.cachedTree = null;
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
  find(
    name: string,
    isMeasured: (provider: Provider, name: string) => boolean = () => false,
    provider = this.provider,
  ): Server | Place {
    const key = nameIn("server", name);
    const named = (each: string) =>
      provider === "managed" ? this.managed.find(each) : this.server(provider, each);
    const server = named(key);
    if (server !== null) return server;
    const listed = this.listed(provider);
    const spot = spotNamed(key, listed) ?? notFound("server", provider, "server, country or city");
    const all = Map.groupBy(
      listed.filter((each) => isIn(spot, each)),
      (each) => isMeasured(provider, each.name),
    );
    const some = [...(all.get(true) ?? []), ...spread(all.get(false) ?? [], MOST_OFFERED)];
    const servers = some.map((each) => named(each.name)).filter((each) => each !== null);
    return { ...spot, name, provider, servers };
  }

  /** Null if there is no such server, or no account for it. */
  server(provider: Provider, name: string): Server | null {
    return provider === "managed" ? this.managed.server(name) : (this.stored[provider].get(name) ?? null);
  }

  /** Whether clients see a server of that name; a managed one may need an account before it can be used. */
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
      ...placeOf(""),
      location: "",
      config,
    });
    return warnings;
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

  /** Loads the managed provider's list from another source, or what was last fetched from there. */
  async reloadManaged(...[host, source, store]: Parameters<ManagedList["load"]>): Promise<void> {
    await this.managed.load(host, source, store);
    this.notify("managed");
  }

  private add(provider: Stored, server: Server): void {
    const servers = this.stored[provider];
    if (servers.has(server.name)) refuse("name: is taken; remove that server first or choose another name");
    if (servers.size >= MOST_SERVERS)
      refuse(
        `name: ${provider} has ${MOST_SERVERS} servers, which is the most there may be; remove some first`,
      );
    const bytes = this.bytes + sizeOf(server);
    if (bytes > MOST_STORED_BYTES)
      refuse(
        `name: there is no room for it: custom and imported servers may take ${MOST_STORED_BYTES} bytes together; remove some first`,
      );
    this.store.insert(server);
    servers.set(server.name, server);
    this.bytes = bytes;
    this.notify(provider);
  }

  /** Reads the stored servers; returns the current provider. */
  private load(): Provider {
    for (const servers of Object.values(this.stored)) servers.clear();
    for (const server of this.store.servers()) {
      if (server.provider !== "managed") this.stored[server.provider].set(server.name, server);
    }
    this.bytes = sizeOfAll([...this.stored.custom.values(), ...this.stored.imported.values()]);
    const current = this.store.read(CURRENT);
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

function refuse(message: string): never {
  throw new GatewayError("bad_request", message);
}

function notFound(field: string, provider: Provider, what = "server"): never {
  throw new GatewayError("not_found", `${field}: the provider ${provider} has no ${what} of this name`);
}
