import { Value } from "typebox/value";
import { GatewayError } from "../errors.ts";
import { parseConfig } from "../wireguard/config.ts";
import { customServer } from "./custom.ts";
import type { List } from "./lists/list.ts";
import type { ManagedList } from "./managed.ts";
import { nameIn } from "./name.ts";
import { isIn, MOST_ASKED, type Place, spotNamed, spread } from "./place.ts";
import { type CustomServer, type ImportedConfig, Provider, type Server, type ServerTree } from "./schema.ts";
import type { Store } from "./store.ts";
import { type Listed, listed, placeOf, treeOf } from "./tree.ts";

type Stored = Exclude<Provider, "managed">;

/** Without credentials anyone on the LAN can add servers: the disk and the memory they take are bounded. */
export const MOST_SERVERS = 4096;

/** The setting in which the current provider is kept. */
const CURRENT = "provider";

/** The servers of the three providers, and which provider is current. */
export class Catalogue {
  private readonly stored: Record<Stored, Map<string, Server>> = { custom: new Map(), imported: new Map() };
  private readonly listeners: ((provider: Provider, count: number) => void)[] = [];
  private provider: Provider;
  /** Null after a change, until someone asks. */
  private shown: ReturnType<Catalogue["tree"]> | null = null;

  constructor(
    private readonly store: Store,
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

  addCustom(body: CustomServer): void {
    this.add("custom", customServer(body));
  }

  removeCustom(name: string): void {
    if (!this.stored.custom.has(nameIn("name", name))) notFound("name", "custom");
    this.store.remove("custom", name);
    this.stored.custom.delete(name);
    this.tell("custom");
  }

  /** Returns what of the file has no effect. */
  importConfig(body: ImportedConfig): string[] {
    const name = nameIn("name", body.name);
    const { config, warnings } = parseConfig(body.config);
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

  private add(provider: Stored, server: Server): void {
    const servers = this.stored[provider];
    if (servers.has(server.name)) refuse("name: is taken; remove that server first or choose another name");
    if (servers.size >= MOST_SERVERS)
      refuse(`name: there are ${MOST_SERVERS} servers already, and no room for more`);
    this.store.insert(server);
    servers.set(server.name, server);
    this.tell(provider);
  }

  /** Fills the lists of stored servers; returns the current provider. */
  private load(): Provider {
    for (const servers of Object.values(this.stored)) servers.clear();
    for (const server of this.store.servers()) {
      if (server.provider !== "managed") this.stored[server.provider].set(server.name, server);
    }
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
