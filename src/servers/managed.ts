import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { isIpv4, isIpv6 } from "../address.ts";
import { GatewayError } from "../errors.ts";
import type { Host } from "../system/host.ts";
import { EVERYTHING } from "../wireguard/fieldset.ts";
import { isKey } from "../wireguard/key.ts";
import type { Config } from "../wireguard/schema.ts";
import { type Account, accountOf, type ManagedSettings } from "./account.ts";
import { nameIn } from "./name.ts";
import type { Server } from "./schema.ts";
import type { Listed } from "./tree.ts";

/** A server of the built-in provider's list. */
const Entry = Type.Object({
  hostname: Type.String(),
  country: Type.String({ minLength: 1, maxLength: 128 }),
  city: Type.String({ minLength: 1, maxLength: 128 }),
  ipv4: Type.String(),
  ipv6: Type.Optional(Type.String()),
  port: Type.Integer({ minimum: 1, maximum: 65535 }),
  public_key: Type.String(),
  /** The label of its record. */
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
});
type Entry = Static<typeof Entry>;

const entryCheck = Compile(Entry);
const listCheck = Compile(Type.Object({ servers: Type.Array(Type.Unknown()) }));

/** The servers of the built-in provider, and the account that its operator has there. */
export class ManagedList {
  private constructor(
    private readonly entries: ReadonlyMap<string, Entry>,
    private readonly account: Account,
    /** One sentence where the list is not what it should be. */
    readonly alert: string | null,
  ) {}

  /** Never throws: without a usable list the provider has no servers, and `alert` says why. */
  static async read(host: Pick<Host, "read">, settings: ManagedSettings): Promise<ManagedList> {
    const account = await accountOf(host, settings);
    if (settings.managedList === null) return new ManagedList(new Map(), account, null);
    const text = await host.read(settings.managedList).catch(() => null);
    const list = text === null ? null : parsed(text);
    if (list === null) {
      const alert = `The list of managed servers ${settings.managedList} is missing or cannot be read; the provider is empty.`;
      return new ManagedList(new Map(), account, alert);
    }
    return new ManagedList(list.entries, account, skippedSentence(list.skipped));
  }

  static empty(): ManagedList {
    return new ManagedList(new Map(), { missing: "there is none" }, null);
  }

  /** What clients see; needs no account. */
  listed(): Listed[] {
    return [...this.entries.values()].map((entry) => ({
      name: entry.hostname,
      label: labelOf(entry),
      country: entry.country,
      city: entry.city,
      ipv4: entry.ipv4,
    }));
  }

  /** The servers that can be connected to: none without an account. */
  servers(): Server[] {
    const { account } = this;
    return "missing" in account
      ? []
      : [...this.entries.values()].map((entry) => serverOf(entry, account.interface));
  }

  /** Null where the list has no such server. */
  find(name: string): Server | null {
    const entry = this.entries.get(name);
    if (entry === undefined) return null;
    if ("missing" in this.account) {
      throw new GatewayError(
        "bad_request",
        `server: a managed server needs an account; ${this.account.missing}`,
      );
    }
    return serverOf(entry, this.account.interface);
  }
}

function parsed(text: string): { entries: Map<string, Entry>; skipped: number } | null {
  const list = jsonOf(text);
  if (!listCheck.Check(list)) return null;
  const entries = new Map<string, Entry>();
  for (const entry of list.servers) {
    if (isEntry(entry) && !entries.has(entry.hostname)) entries.set(entry.hostname, entry);
  }
  return { entries, skipped: list.servers.length - entries.size };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isEntry(entry: unknown): entry is Entry {
  if (!entryCheck.Check(entry)) return false;
  const addresses = isIpv4(entry.ipv4) && (entry.ipv6 === undefined || isIpv6(entry.ipv6));
  return addresses && isKey(entry.public_key) && isName(entry.hostname);
}

function isName(text: string): boolean {
  try {
    return nameIn("hostname", text) === text;
  } catch {
    return false;
  }
}

function skippedSentence(skipped: number): string | null {
  if (skipped === 0) return null;
  return `${skipped} of the managed servers could not be read from the list and ${skipped === 1 ? "is" : "are"} left out.`;
}

function serverOf(entry: Entry, own: Config["interface"]): Server {
  return {
    name: entry.hostname,
    provider: "managed",
    label: labelOf(entry),
    country: entry.country,
    city: entry.city,
    location: `${entry.city}, ${entry.country}`,
    config: {
      interface: own,
      peer: {
        publicKey: entry.public_key,
        endpoint: { host: entry.ipv4, port: entry.port },
        allowedIps: [...EVERYTHING],
      },
    },
  };
}

function labelOf(entry: Entry): string {
  return entry.provider ?? "Managed";
}
