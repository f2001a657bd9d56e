import { type Static, Type } from "typebox";
import { type Address, isIpv4, isPrivate, mustParseAddress } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import { type PortRange, rangesIn } from "../../transports/ports.ts";
import { checked, type Outcome, type Reading, readingOf, usualPort } from "./entry.ts";

// IVPN's desktop app defines these shapes (daemon/api/types/servers.go).

const list = checkerOf(
  Type.Object({
    wireguard: Type.Array(Type.Unknown()),
    openvpn: Type.Unknown(),
    config: Type.Object({ ports: Type.Optional(Type.Unknown()) }),
  }),
);

const place = checkerOf(
  Type.Object({ country: Type.String(), city: Type.String(), hosts: Type.Array(Type.Unknown()) }),
);

const Host = Type.Object({
  hostname: Type.String(),
  host: Type.String(),
  public_key: Type.String(),
  /** The server's own address in the tunnel, where its resolver listens: `172.16.0.1/12`. */
  local_ip: Type.Optional(Type.String()),
  multihop_port: Type.Optional(Type.Unknown()),
});
const host = checkerOf(Host);

const ports = checkerOf(Type.Object({ wireguard: Type.Array(Type.Unknown()) }));
/** One port, or a range of them. */
const udpPort = checkerOf(
  Type.Object({
    type: Type.String({ pattern: "^[Uu][Dd][Pp]$" }),
    port: Type.Optional(Type.Integer()),
    range: Type.Optional(Type.Object({ min: Type.Integer(), max: Type.Integer() })),
  }),
);

/** The app's default; every server listens on all ports of the list. */
const PREFERRED_PORT = 2049;
/** The resolver in IVPN's WireGuard files. */
const RESOLVER = mustParseAddress("172.16.0.1");

interface Entry {
  country: string;
  city: string;
  host: unknown;
}

/** IVPN's list: api.ivpn.net/v5/servers.json. */
export function readIvpn(document: unknown): Reading | null {
  if (!list.Check(document)) return null;
  const all = portsIn(document.config.ports);
  const entries = document.wireguard.flatMap((each): (Entry | null)[] =>
    place.Check(each) ? each.hosts.map((one) => ({ ...each, host: one })) : [null],
  );
  const reading = readingOf(entries, (entry) => outcomeOf(entry, all));
  return { ...reading, resolver: resolverIn(entries) };
}

function outcomeOf(entry: Entry | null, all: readonly PortRange[]): Outcome {
  if (entry === null || !host.Check(entry.host)) return "malformed";
  const { hostname, host: ipv4, public_key, multihop_port } = entry.host;
  const { country, city } = entry;
  return checked({
    name: hostname,
    label: "IVPN",
    country,
    city,
    ipv4,
    port: usualPort(PREFERRED_PORT, all),
    publicKey: public_key,
    ports: all,
    ...(typeof multihop_port === "number" && { multihopPort: multihop_port }),
  });
}

/** Single ports first: the apps offer them, and ranges only to those who look for them. */
function portsIn(value: unknown): readonly PortRange[] {
  const all = ports.Check(value) ? value.wireguard.filter((each) => udpPort.Check(each)) : [];
  const single = all.map(({ port }) => [port, port]);
  return rangesIn([...single, ...all.map(({ range }) => [range?.min, range?.max])]);
}

/** The resolver that all servers have in common. */
function resolverIn(entries: readonly (Entry | null)[]): Address {
  const all = entries.flatMap((entry) => (host.Check(entry?.host) ? [resolverOf(entry.host)] : []));
  const [first = null] = all;
  return first !== null && all.every((each) => each === first) ? first : RESOLVER;
}

function resolverOf({ local_ip = "" }: Static<typeof Host>): Address | null {
  const address = local_ip.replace(/\/.*$/, "");
  return isIpv4(address) && isPrivate(address) ? address : null;
}
