import { familyOf, isHostName, mustParsePrefix, type Prefix } from "../base/address.ts";
import { amneziaFrom } from "./amnezia.ts";
import type { AmneziaName } from "./amnezia-schema.ts";
import {
  addressIn,
  allowedIpIn,
  dnsIn,
  endpointIn,
  entriesIn,
  type Field,
  keepaliveIn,
  keyIn,
  mtuIn,
} from "./fields.ts";
import { publicKeyOf } from "./key.ts";
import { refused } from "./refusals.ts";
import { type Config, MAX_ENTRIES, withAllowedIps } from "./schema.ts";

/** The fields of a configuration, whatever its source; each may be given several times. */
export type FieldName =
  | "privateKey"
  | "addresses"
  | "dns"
  | "mtu"
  | "publicKey"
  | "presharedKey"
  | "endpoint"
  | "allowedIps"
  | "persistentKeepalive"
  | AmneziaName;

export type Fieldset = Partial<Record<FieldName, readonly Field[]>>;

type Names = Record<FieldName, string>;

/** The default of AllowedIPs: the peer carries everything. */
export const EVERYTHING: readonly Prefix[] = ["0.0.0.0/0", "::/0"].map(mustParsePrefix);

/**
 * The configuration that the fields describe. Import and custom/add both use it, so that one cannot accept what the
 * other refuses. `names` are what the source of the fields calls them, for messages about missing ones.
 */
export function configFrom(fields: Fieldset, names: Names): Config {
  const config = { interface: interfaceFrom(fields, names), peer: peerFrom(fields, names) };
  if (config.peer.publicKey === publicKeyOf(config.interface.privateKey)) {
    throw refused("wireguard_key_own", { field: fields.publicKey?.at(-1)?.where ?? names.publicKey });
  }
  return config;
}

export function interfaceFrom(fields: Fieldset, names: Names): Config["interface"] {
  const addresses = every(fields.addresses, MAX_ENTRIES.addresses, addressIn);
  if (addresses.length === 0) missing(names.addresses);
  const dns = every(fields.dns, MAX_ENTRIES.dns, dnsIn);
  return {
    privateKey: last(fields.privateKey, keyIn) ?? missing(names.privateKey),
    addresses,
    dns: dns.filter((entry) => !isHostName(entry)),
    searchDomains: dns.filter(isHostName),
    ...present("mtu", mtuFor(addresses, fields.mtu)),
    ...present("amnezia", amneziaFrom(fields, names)),
  };
}

function peerFrom(fields: Fieldset, names: Names): Config["peer"] {
  const allowedIps = every(fields.allowedIps, MAX_ENTRIES.allowedIps, allowedIpIn);
  const peer = {
    publicKey: last(fields.publicKey, keyIn) ?? missing(names.publicKey),
    ...present("presharedKey", last(fields.presharedKey, keyIn)),
    endpoint: last(fields.endpoint, endpointIn) ?? missing(names.endpoint),
    ...present("persistentKeepalive", last(fields.persistentKeepalive, keepaliveIn)),
  };
  return withAllowedIps(peer, allowedIps.length > 0 ? allowedIps : EVERYTHING);
}

function missing(name: string): never {
  throw refused("config_missing", { field: name });
}

/** RFC 8200 section 5: a link that carries IPv6 must carry packets of 1280 bytes. */
function mtuFor(addresses: readonly Prefix[], fields: readonly Field[] | undefined): number | undefined {
  const mtu = last(fields, mtuIn);
  const ipv6 = addresses.some((address) => familyOf(address) === 6);
  if (mtu !== undefined && mtu < 1280 && ipv6) {
    throw refused("wireguard_mtu_too_small", { field: fields?.at(-1)?.where ?? "mtu" });
  }
  return mtu;
}

/** As in `wg`, every value must be valid and the last one counts. */
function last<T>(fields: readonly Field[] | undefined, parse: (field: Field) => T): T | undefined {
  return fields?.map(parse).at(-1);
}

/** The entries of all lists, over all their lines, in order, without duplicates. */
function every<T extends string>(
  fields: readonly Field[] | undefined,
  most: number,
  parse: (entry: Field) => T,
): T[] {
  const entries = fields?.flatMap(entriesIn) ?? [];
  const surplus = entries[most];
  if (surplus !== undefined) throw refused("config_entries", { field: surplus.where, max: most });
  return [...new Set(entries.map(parse))];
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}
