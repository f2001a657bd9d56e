import { type Static, Type } from "typebox";
import { isIpv4 } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import {
  checked,
  type ListedServer,
  type Outcome,
  type Reading,
  readingOf,
  type UncheckedServer,
} from "./entry.ts";
import { providerOfHosts, providerOfKey, type Shared } from "./gluetun-providers.ts";

const providerFile = checkerOf(Type.Object({ servers: Type.Array(Type.Unknown()) }));
const contentsEntry = checkerOf(Type.Object({ filepath: Type.String() }));

/** Distinguishes gluetun's entries, OpenVPN ones included, from those of other lists with `servers`. */
const anyServer = checkerOf(
  Type.Object({ hostname: Type.Optional(Type.String()), ips: Type.Array(Type.Unknown()) }),
);

const WireGuardServer = Type.Object({
  vpn: Type.Literal("wireguard"),
  hostname: Type.String(),
  country: Type.Optional(Type.String()),
  region: Type.Optional(Type.String()),
  city: Type.Optional(Type.String()),
  server_name: Type.Optional(Type.String()),
  wgpubkey: Type.String(),
  ips: Type.Array(Type.String()),
});
type WireGuardServer = Static<typeof WireGuardServer>;

const wireguardServer = checkerOf(WireGuardServer);

/** gluetun treats an entry without `vpn` as OpenVPN. */
const otherKind = checkerOf(Type.Object({ vpn: Type.Optional(Type.String({ pattern: "^(?!wireguard$)" })) }));

/** The entries of one provider. */
interface Part {
  provider: Shared;
  entries: readonly unknown[];
}

/** A file of one provider: `{version, timestamp, servers}`. */
export function readGluetunProvider(document: unknown): Reading | null {
  if (!providerFile.Check(document)) return null;
  const entries = document.servers;
  if (!entries.some((entry) => anyServer.Check(entry))) return null;
  const hostnames = entries.flatMap((entry) => (anyServer.Check(entry) ? (entry.hostname ?? []) : []));
  return readingOfParts([{ provider: providerOfHosts(hostnames), entries }]);
}

/** The whole `servers.json`: `{version, mullvad: {version, timestamp, servers}, nordvpn: …}`. */
export function readGluetun(document: unknown): Reading | null {
  if (!isObject(document)) return null;
  const parts = Object.entries(document).flatMap(([key, file]) =>
    providerFile.Check(file) ? [{ provider: providerOfKey(key), entries: file.servers }] : [],
  );
  return parts.length === 0 ? null : readingOfParts(parts);
}

/** Since 2026 `servers.json` may contain only the paths of the providers' files. */
export function readGluetunContents(document: unknown): Reading | null {
  const found = isObject(document) && Object.values(document).some((entry) => contentsEntry.Check(entry));
  return found ? { servers: [], skipped: 0 } : null;
}

function readingOfParts(parts: readonly Part[]): Reading {
  const holders = new Map<string, ListedServer>();
  const all = parts.flatMap(({ provider, entries }) => entries.map((entry) => ({ provider, entry })));
  return readingOf(all, ({ provider, entry }) => {
    if (otherKind.Check(entry)) return "left out";
    if (!wireguardServer.Check(entry)) return "malformed";
    const server = checked(serverOf(entry, provider));
    return server === "malformed" ? server : named(server, entry, holders);
  });
}

/** Uses the first IPv4 address: all addresses of an entry have the same host name and key. */
function serverOf(entry: WireGuardServer, { label, port, ephemeralPeers }: Shared): UncheckedServer {
  const { hostname, country, region, city, wgpubkey, ips } = entry;
  return {
    name: hostname,
    label,
    country: country || region || "Unknown",
    city: city || "Unknown",
    ipv4: ips.find(isIpv4) ?? "",
    port,
    publicKey: wgpubkey,
    ...(ephemeralPeers && { ephemeralPeers }),
  };
}

/**
 * Several servers may have the same host name: AirVPN's is that of a country, and providers may share one. The first
 * server keeps it, the others get a suffix. A repeated server, as in Proton VPN's list, is not a fault.
 */
function named(server: ListedServer, entry: WireGuardServer, holders: Map<string, ListedServer>): Outcome {
  const holder = holders.get(server.name);
  if (holder === undefined) {
    holders.set(server.name, server);
    return server;
  }
  if (holder.ipv4 === server.ipv4 && holder.publicKey === server.publicKey) return "left out";
  return checked({ ...server, name: `${server.name} (${entry.server_name ?? server.ipv4})` });
}

function isObject(document: unknown): document is Record<string, unknown> {
  return typeof document === "object" && document !== null && !Array.isArray(document);
}
