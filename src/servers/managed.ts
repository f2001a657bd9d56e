import type { Address } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import type { Host } from "../system/host.ts";
import { EVERYTHING } from "../wireguard/fieldset.ts";
import type { Config } from "../wireguard/schema.ts";
import type { ListedServer } from "./lists/entry.ts";
import { type List, readList } from "./lists/list.ts";
import { refused } from "./refusals.ts";
import type { Server } from "./schema.ts";
import type { Storage } from "./storage.ts";
import type { Listed } from "./tree.ts";

/**
 * The gateway's own end of every tunnel to a managed server, or only the operator's resolvers if each server assigns
 * the rest, or a sentence that says what is missing.
 */
export type OwnEnd =
  | { interface: Config["interface"] }
  | { assigned: { dns: Address[] } }
  | { missing: string };

/** A list as it is used. */
interface Contents {
  byName: ReadonlyMap<string, ListedServer>;
  resolver: Address | undefined;
  /** One sentence if the list could not be read completely. */
  alert: string | null;
}

/** The servers of the managed provider's list, and the gateway's own end, which is needed to connect to them. */
export class ManagedList {
  /** A function until the list is needed: 20,000 servers take 0.1 s to read, which a start does not wait for. */
  private contents: Contents | (() => Contents) = NOTHING;

  constructor(private ownEnd: OwnEnd) {}

  /**
   * Takes the list from its file, or as it was last fetched from its address. A list that is missing or unusable does
   * not throw: the provider then has no servers, and `alert` says why.
   */
  async load(host: Pick<Host, "read">, source: string | null, store: Pick<Storage, "list">): Promise<void> {
    if (source === null) {
      this.contents = NOTHING;
    } else if (isAddress(source)) {
      this.contents = () => contentsOf(store.list(source)?.content, `of ${new URL(source).host}`);
    } else {
      const text = await textIn(host, source);
      this.contents = () => contentsOf(text, source);
    }
  }

  /** One sentence if the list could not be read completely. */
  get alert(): string | null {
    return this.read().alert;
  }

  /** Replaces the list; false if the servers are the same. */
  take(list: Omit<List, "format">): boolean {
    const changed = !Bun.deepEquals(list.servers, this.listed());
    this.contents = contentsIn(list);
    return changed;
  }

  /** Replaces the own end after a change of the account. */
  useOwnEnd(ownEnd: OwnEnd): void {
    this.ownEnd = ownEnd;
  }

  /** The servers as clients see them; needs no account. */
  listed(): Listed[] {
    return [...this.read().byName.values()];
  }

  /** This needs no account. */
  has(name: string): boolean {
    return this.read().byName.has(name);
  }

  /** The servers that can be connected to; none without an account. */
  servers(): Server[] {
    const own = this.own();
    if (own === null) return [];
    return [...this.read().byName.values()].flatMap((server) => serverOf(server, own) ?? []);
  }

  /** The number of `servers()`. */
  usable(): number {
    const { byName } = this.read();
    const [any] = byName.values();
    // The servers of a list are all of one kind.
    return any === undefined || this.own() === null || serverOf(any, this.own()) === null ? 0 : byName.size;
  }

  /** Null if the list has no such server, or if there is no account. */
  server(name: string): Server | null {
    const [server, own] = [this.read().byName.get(name), this.own()];
    return server === undefined ? null : serverOf(server, own);
  }

  /** Null if the list has no such server. Throws `bad_request` without an account. */
  find(name: string): Server | null {
    const server = this.read().byName.get(name);
    if (server === undefined) return null;
    if ("missing" in this.ownEnd) {
      throw refused("account_missing", { reason: this.ownEnd.missing });
    }
    const found = serverOf(server, this.own());
    if (found !== null) return found;
    throw refused("server_of_other_provider", { command: "portcullis use <provider>" });
  }

  /** The operator's resolvers take precedence over the resolver that the list names. */
  private own(): Own | null {
    if ("missing" in this.ownEnd) return null;
    if ("assigned" in this.ownEnd) return { ...UNASSIGNED, dns: this.ownEnd.assigned.dns, registers: true };
    const own = this.ownEnd.interface;
    const { resolver } = this.read();
    return resolver === undefined || own.dns.length > 0 ? own : { ...own, dns: [resolver] };
  }

  private read(): Contents {
    if (typeof this.contents === "function") this.contents = this.contents();
    return this.contents;
  }
}

const NOTHING: Contents = { byName: new Map(), resolver: undefined, alert: null };

function contentsIn({ servers, resolver, skipped }: Omit<List, "format">): Contents {
  const byName = new Map(servers.map((server) => [server.name, server]));
  return { byName, resolver, alert: skippedSentence(skipped) };
}

/** `place` names the list in the alert; an address may contain a password. */
function contentsOf(text: string | undefined, place: string): Contents {
  if (text === undefined) return NOTHING;
  try {
    return contentsIn(readList(text));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { ...NOTHING, alert: faultSentence(place, error) };
  }
}

/** Whether a list is fetched instead of read from a file. */
export function isAddress(source: string): boolean {
  return source.startsWith("https://");
}

async function textIn(host: Pick<Host, "read">, path: string): Promise<string> {
  return (await host.read(path).catch(() => null)) ?? "";
}

function faultSentence(place: string, { code, message }: GatewayError): string {
  const fault =
    code === "unable" ? `${place} cannot be used: ${message}` : `${place} is missing or cannot be read`;
  return `The VPN account has no servers: its list ${fault}.`;
}

function skippedSentence(skipped: number): string | null {
  if (skipped === 0) return null;
  return `${skipped} of the VPN account's servers could not be read from the list and ${skipped === 1 ? "is" : "are"} left out.`;
}

/** The own end, and whether it is a placeholder. */
type Own = Config["interface"] & { registers?: true };

/** The values that a server replaces when it registers the gateway. */
const UNASSIGNED: Config["interface"] = { privateKey: "", addresses: [], dns: [], searchDomains: [] };

/** Null without an own end that fits the server. */
function serverOf(server: ListedServer, ownEnd: Own | null): Server | null {
  const { name, label, country, city, ipv4, port, publicKey, multihopPort, opensPorts } = server;
  const { ports, offers, ephemeralPeers } = server;
  if (ownEnd === null || (publicKey === null) !== (ownEnd.registers === true)) return null;
  const { registers, ...own } = ownEnd;
  return {
    name,
    provider: "managed",
    label,
    country,
    city,
    location: `${city}, ${country}`,
    config: {
      interface: own,
      peer: { publicKey: publicKey ?? "", endpoint: { host: ipv4, port }, allowedIps: [...EVERYTHING] },
    },
    ...(registers && { registers }),
    ...(multihopPort !== undefined && { multihopPort }),
    ...(opensPorts !== undefined && { opensPorts }),
    ...(ports !== undefined && { ports }),
    ...(offers !== undefined && { offers }),
    ...(ephemeralPeers !== undefined && { ephemeralPeers }),
  };
}
