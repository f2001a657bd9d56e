import { Value } from "typebox/value";
import { GatewayError } from "../errors.ts";
import { nameIn } from "../name.ts";
import { parseConfig } from "../wireguard/config.ts";
import type { Config } from "../wireguard/schema.ts";
import { customServer } from "./custom.ts";
import type { List } from "./lists/list.ts";
import type { ManagedList } from "./managed.ts";
import { isIn, MOST_ASKED, type Place, spotNamed, spread } from "./place.ts";
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

/** Refuses a configuration that the machine cannot use as its network is. */
export type Refusal = (config: Config) => void;

/** The setting in which the current provider is kept. */
const CURRENT = "provider";

/** The servers of the three providers, and which provider is current. */
export class Catalogue {
  private readonly stored: Record<Stored, Map<string, Server>> = { custom: new Map(), imported: new Map() };
  /** Of all stored servers. */
  private bytes = 0;
  private readonly listeners: ((provider: Provider, count: number) => void)[] = [];
  private provider: Provider;
  /** Null after a change, until someone asks. */
  private shown: ReturnType<Catalogue["tree"]> | null = null;

  constructor(
    private readonly store: Pick<Storage, "servers" | "insert" | "remove" | "read" | "write">,
    readonly managed: ManagedList,
  ) {
    this.provider = this.load();
  }

  /** Takes up what somebody else has put into the store. */
  reload(): void {
    this.provider = this.load();
    for (const provider of ["custom", "imported"] as const) this.tell(provider);
  }

  current(): Provider {
    return this.provider;
  }

  use(provider: Provider): void {
    if (provider === this.provider) return;
    this.store.write(CURRENT, provider);
    this.provider = provider;
    this.shown = null;
  }

  /** The servers of a provider that can be connected to: managed ones need an account. */
  servers(provider: Provider = this.provider): Server[] {
    return provider === "managed" ? this.managed.servers() : [...this.stored[provider].values()];
  }

  /** The same object until something in it changes. */
  tree(): { servers: ServerTree; provider: Provider } {
    this.shown ??= { servers: treeOf(this.listed()), provider: this.provider };
    return this.shown;
  }

  /** Servers of every provider, by which a live tunnel is recognised. */
  all(): Server[] {
    return [...this.servers("managed"), ...this.servers("custom"), ...this.servers("imported")];
  }

  /**
   * The current provider's server of that name, else its country or city of that name, with a few servers: those whose
   * round trip is known, and a choice of the others.
   */
  find(
    name: string,
    isMeasured: (provider: Provider, name: string) => boolean = () => false,
  ): Server | Place {
    const { provider } = this;
    const key = nameIn("server", name);
    const named = (each: string) =>
      provider === "managed" ? this.managed.find(each) : this.server(provider, each);
    const server = named(key);
    if (server !== null) return server;
    const listed = this.listed();
    const spot = spotNamed(key, listed) ?? notFound("server", provider, "server, country or city");
    const all = Map.groupBy(
      listed.filter((each) => isIn(spot, each)),
      (each) => isMeasured(provider, each.name),
    );
    const some = [...(all.get(true) ?? []), ...spread(all.get(false) ?? [], MOST_ASKED)];
    const servers = some.map((each) => named(each.name)).filter((each) => each !== null);
    return { ...spot, name, provider, servers };
  }

  /** Null where there is none, or no account for it. */
  server(provider: Provider, name: string): Server | null {
    return provider === "managed" ? this.managed.server(name) : (this.stored[provider].get(name) ?? null);
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
    this.tell(provider);
  }

  /** Returns what of the file has no effect. */
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

  /** Calls back when the list of a provider changed, with the number of its servers. */
  onChange(listener: (provider: Provider, count: number) => void): void {
    this.listeners.push(listener);
  }

  /** Takes up another list of the managed provider; false where it has the same servers. */
  relist(list: List): boolean {
    const changed = this.managed.take(list);
    if (changed) this.tell("managed");
    return changed;
  }

  /** Takes up what is there of another source's list. */
  async reloadManaged(...[host, source, store]: Parameters<ManagedList["load"]>): Promise<void> {
    await this.managed.load(host, source, store);
    this.tell("managed");
  }

  private add(provider: Stored, server: Server): void {
    const servers = this.stored[provider];
    if (servers.has(server.name)) refuse("name: is taken; remove that server first or choose another name");
    if (servers.size >= MOST_SERVERS)
      refuse(`name: there are ${MOST_SERVERS} servers already, and no room for more`);
    const bytes = this.bytes + sizeOf(server);
    if (bytes > MOST_STORED_BYTES)
      refuse(`name: all servers together would take more than ${MOST_STORED_BYTES} bytes; remove some first`);
    this.store.insert(server);
    servers.set(server.name, server);
    this.bytes = bytes;
    this.tell(provider);
  }

  /** Fills the lists of stored servers; returns the current provider. */
  private load(): Provider {
    for (const servers of Object.values(this.stored)) servers.clear();
    for (const server of this.store.servers()) {
      if (server.provider !== "managed") this.stored[server.provider].set(server.name, server);
    }
    this.bytes = sizeOfAll([...this.stored.custom.values(), ...this.stored.imported.values()]);
    const current = this.store.read(CURRENT);
    return Value.Check(Provider, current) ? current : "managed";
  }

  private tell(provider: Provider): void {
    this.shown = null;
    const count = provider === "managed" ? this.managed.listed().length : this.stored[provider].size;
    for (const listener of this.listeners) listener(provider, count);
  }

  private listed(): Listed[] {
    return this.provider === "managed" ? this.managed.listed() : this.servers().map(listed);
  }
}

function refuse(message: string): never {
  throw new GatewayError("bad_request", message);
}

function notFound(field: string, provider: Provider, what = "server"): never {
  throw new GatewayError("not_found", `${field}: the provider ${provider} has no ${what} of this name`);
}
