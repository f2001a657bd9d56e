import type { CustomServer, ImportedConfig } from "../servers/schema.ts";
import { generateKeyPair, type KeyPair } from "../wireguard/key.ts";
import { MULTIHOP_PORTS, RESOLVERS, TUNNEL, VPN, VPN_PORT } from "./topology.ts";

/** One customer's configuration at one VPN server. */
export interface Customer extends KeyPair {
  /** CIDRs inside the tunnel, comma-separated. */
  address: string;
  /** Resolver inside the tunnel. */
  dns: string;
  /** Empty if there is none. */
  presharedKey: string;
}

/** A VPN server as its provider describes it, with its customers. */
export interface VpnServer {
  hostname: string;
  country: string;
  city: string;
  ipv4: string;
  ipv6: string;
  port: number;
  /** The port at which the other server forwards packets to this one. */
  multihopPort: number;
  /** The addresses at which it answers questions for names inside the tunnel, by address family. */
  resolvers: { v4: readonly string[]; v6: readonly string[] };
  privateKey: string;
  publicKey: string;
  managed: Customer;
  custom: Customer;
  imported: Customer;
  /** Body of POST /api/custom/add. */
  customBody: CustomServer;
  /** A wg-quick file, with a preshared key. */
  importText: string;
  /** Body of POST /api/import. */
  importBody: ImportedConfig;
}

const PLACES = {
  vpn1: { hostname: "box-vpn-1", country: "Sweden", city: "Gothenburg" },
  vpn2: { hostname: "box-vpn-2", country: "Netherlands", city: "Amsterdam" },
} as const;

/** Makes the two servers of the sandbox. Both accept the managed account's key, as all servers of a provider do. */
export function makeServers(account: KeyPair): [VpnServer, VpnServer] {
  return [makeServer("vpn1", 1, account), makeServer("vpn2", 2, account)];
}

/** The text for `wg setconf` on a server. */
export function serverConfig(server: VpnServer): string {
  const peers = [server.managed, server.custom, server.imported].map((customer) =>
    [
      "[Peer]",
      `PublicKey = ${customer.publicKey}`,
      ...(customer.presharedKey === "" ? [] : [`PresharedKey = ${customer.presharedKey}`]),
      `AllowedIPs = ${customer.address}`,
      "",
    ].join("\n"),
  );
  return `[Interface]\nPrivateKey = ${server.privateKey}\nListenPort = ${server.port}\n${peers.join("")}`;
}

function makeServer(role: "vpn1" | "vpn2", number: 1 | 2, account: KeyPair): VpnServer {
  const place = PLACES[role];
  const { v4, v6 } = VPN[role];
  const own = generateKeyPair();
  const dns = RESOLVERS[role].v4;
  const custom = customer(10 + number, generateKeyPair(), { dns });
  const imported = customer(20 + number, generateKeyPair(), { dns, presharedKey: presharedKey() });
  const importText = wgQuick(imported, own.publicKey, `${v4}:${VPN_PORT}`);
  return {
    ...place,
    ipv4: v4,
    ipv6: v6,
    port: VPN_PORT,
    multihopPort: MULTIHOP_PORTS[role],
    resolvers: resolversOf(role),
    ...own,
    managed: customer(2, account),
    custom,
    imported,
    customBody: {
      name: `custom-${number}`,
      endpoint: `${v4}:${VPN_PORT}`,
      public_key: own.publicKey,
      private_key: custom.privateKey,
      address: custom.address,
      dns: custom.dns,
      allowed_ips: "0.0.0.0/0,::/0",
      location: `${place.city}, ${place.country}`,
    },
    importText,
    importBody: { name: `import-${number}`, config: importText },
  };
}

function resolversOf(role: keyof typeof RESOLVERS): VpnServer["resolvers"] {
  const { v4, v6 } = RESOLVERS[role];
  return { v4: [...new Set([TUNNEL.server4, v4])], v6: [...new Set([TUNNEL.server6, v6])] };
}

function customer(
  host: number,
  keys: KeyPair,
  { dns = TUNNEL.server4, presharedKey = "" }: Partial<Pick<Customer, "dns" | "presharedKey">> = {},
): Customer {
  const v4 = TUNNEL.prefix4.replace("0/24", `${host}/32`);
  const v6 = TUNNEL.prefix6.replace("/64", `${host}/128`);
  return { ...keys, address: `${v4},${v6}`, dns, presharedKey };
}

function wgQuick(customer: Customer, publicKey: string, endpoint: string): string {
  return `[Interface]
PrivateKey = ${customer.privateKey}
Address = ${customer.address}
DNS = ${customer.dns}

[Peer]
PublicKey = ${publicKey}
PresharedKey = ${customer.presharedKey}
AllowedIPs = 0.0.0.0/0, ::/0
Endpoint = ${endpoint}
PersistentKeepalive = 25
`;
}

function presharedKey(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64();
}
