import { GatewayError } from "../errors.ts";
import type { Host } from "../system/host.ts";
import { EVERYTHING } from "../wireguard/fieldset.ts";
import type { Config } from "../wireguard/schema.ts";
import { type Account, accountOf, type ManagedSettings } from "./account.ts";
import type { ListedServer } from "./lists/entry.ts";
import { type List, readList } from "./lists/list.ts";
import type { Server } from "./schema.ts";
import type { Listed } from "./tree.ts";

/** The servers of the built-in provider, and the account that its operator has there. */
export class ManagedList {
  private readonly byName: ReadonlyMap<string, ListedServer>;

  private constructor(
    servers: readonly ListedServer[],
    private readonly account: Account,
    /** One sentence where the list is not what it should be. */
    readonly alert: string | null,
  ) {
    this.byName = new Map(servers.map((server) => [server.name, server]));
  }

  /** Never throws: without a usable list the provider has no servers, and `alert` says why. */
  static async read(host: Pick<Host, "read">, settings: ManagedSettings): Promise<ManagedList> {
    const account = await accountOf(host, settings);
    if (settings.managedList === null) return new ManagedList([], account, null);
    try {
      const list = await listIn(host, settings.managedList);
      return new ManagedList(list.servers, withResolver(account, list), skippedSentence(list.skipped));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return new ManagedList([], account, faultSentence(settings.managedList, error));
    }
  }

  static empty(): ManagedList {
    return new ManagedList([], { missing: "there is none" }, null);
  }

  /** What clients see; needs no account. */
  listed(): Listed[] {
    return [...this.byName.values()];
  }

  /** The servers that can be connected to: none without an account. */
  servers(): Server[] {
    const { account } = this;
    return "missing" in account
      ? []
      : [...this.byName.values()].map((server) => serverOf(server, account.interface));
  }

  /** Null where the list has no such server. */
  find(name: string): Server | null {
    const server = this.byName.get(name);
    if (server === undefined) return null;
    if ("missing" in this.account) {
      throw new GatewayError(
        "bad_request",
        `server: a managed server needs an account; ${this.account.missing}`,
      );
    }
    return serverOf(server, this.account.interface);
  }
}

async function listIn(host: Pick<Host, "read">, path: string): Promise<List> {
  const text = await host.read(path).catch(() => null);
  return readList(text ?? "");
}

/** The operator's own resolvers win over the one that the list names. */
function withResolver(account: Account, { resolver }: List): Account {
  if ("missing" in account || resolver === undefined || account.interface.dns.length > 0) return account;
  return { interface: { ...account.interface, dns: [resolver] } };
}

function faultSentence(path: string, { code, message }: GatewayError): string {
  const fault =
    code === "unable" ? `${path} cannot be used: ${message}` : `${path} is missing or cannot be read`;
  return `The list of managed servers ${fault}; the provider is empty.`;
}

function skippedSentence(skipped: number): string | null {
  if (skipped === 0) return null;
  return `${skipped} of the managed servers could not be read from the list and ${skipped === 1 ? "is" : "are"} left out.`;
}

function serverOf(server: ListedServer, own: Config["interface"]): Server {
  const { name, label, country, city, ipv4, port, publicKey } = server;
  return {
    name,
    provider: "managed",
    label,
    country,
    city,
    location: `${city}, ${country}`,
    config: {
      interface: own,
      peer: { publicKey, endpoint: { host: ipv4, port }, allowedIps: [...EVERYTHING] },
    },
  };
}
