import { type Address, addressOf, familyOf, isLinkLocal, type Prefix } from "../base/address.ts";
import { byDestinationFromRemote } from "./destinations.ts";
import { TO_RESOLVER } from "./dns.ts";
import { chainOf } from "./exits.ts";
import { fromHomesToLan, fromLanToHomes, toHomesChain } from "./homes.ts";
import { among, byFamily, chain, DNS, namesOf, on } from "./match.ts";
import { cabled } from "./mesh.ts";
import { directRemotes, type Exit, type Policy, type Remote } from "./policy.ts";
import { REMOTE_DIRECT } from "./remote-direct.ts";
import { refuse } from "./strangers.ts";

const TO_LAN = "remote_to_lan";
const FROM_LAN = "lan_to_remote";
const FROM_TUNNELS = "tunnels_to_remote";

/**
 * The rules for packets that come out of the interface. WireGuard has proven that they are the device's own: each device
 * has its addresses, and only these. DNS always takes the device's exit. What is for the gateway or for the LAN is in no
 * tunnel's zone.
 */
export function fromRemote(policy: Policy, blocks: boolean): string[] {
  const { remote } = policy;
  if (remote === undefined) return [];
  if (!blocks) return ['drop comment "without the kill switch no remote device comes in"'];
  const all = addressesOf(remote);
  return [
    ...toHomesChain(policy),
    ...([4, 6] as const).map(
      (family) => `${otherThan(family, all)} drop comment "only known devices come in"`,
    ),
    'fib daddr type { broadcast, multicast } drop comment "there is no link that others share"',
    'ip6 daddr fe80::/10 drop comment "there is no link that others share"',
    ...byExit(policy, `${TO_RESOLVER} `),
    'fib daddr type local accept comment "the gateway\'s own connections are in no tunnel"',
    ...toLan(
      remote,
      cabled(policy).flatMap(({ prefixes }) => prefixes),
    ).map((each) => `${each} accept comment "connections to the LAN are in no tunnel"`),
    ...byDestinationFromRemote(policy),
    ...byExit(policy, ""),
    'drop comment "only known devices come in"',
  ];
}

/**
 * On the LAN's interfaces: replies to remote devices are in no tunnel, and neither is what is for the gateway's own address
 * among theirs. The forward chain permits nothing else.
 */
export function repliesToRemote({ remote }: Policy, family: 4 | 6, toGateway: string): string[] {
  return byFamily(
    "daddr",
    (remote?.networks ?? []).filter((network) => familyOf(network) === family),
  ).map((to) => `${to} goto ${toGateway} comment "replies to remote devices are in no tunnel"`);
}

/**
 * Ahead of all that accepts known connections. Without the routing rule of their networks, replies to remote devices
 * take the default route: with one card they would leave by the interface that they came in by, as if for the LAN.
 */
export function keepOffOtherLinks({ remote }: Policy): string[] {
  if (remote === undefined) return [];
  return byFamily("daddr", remote.networks).map(
    (to) => `oifname != "${remote.interface}" ${to} drop comment "no other way leads to remote devices"`,
  );
}

/** Between the interface, the LAN and the tunnels. Two remote devices do not reach each other. */
export function forwardRemote(policy: Policy): string[] {
  const { remote, carrying } = policy;
  const lans = namesOf(cabled(policy));
  if (remote === undefined) return [];
  const [from, to] = [`iifname "${remote.interface}"`, `oifname "${remote.interface}"`];
  const tunnels = carrying.map((tunnel) => tunnel.interface);
  return [
    ...among("iifname", tunnels).map(
      (tunnel) => `${tunnel} ${to} jump ${FROM_TUNNELS} comment "replies to remote devices"`,
    ),
    ...among("oifname", lans).map(
      (lan) => `${from} ${lan} jump ${TO_LAN} comment "remote devices that may reach the LAN"`,
    ),
    ...among("iifname", lans).map(
      (lan) => `${lan} ${to} jump ${FROM_LAN} comment "replies to remote devices"`,
    ),
    ...refuseRemote(remote),
  ];
}

/** The chains that these rules lead to. */
export function remoteChains(policy: Policy, clamp: string): string[] {
  const { remote } = policy;
  if (remote === undefined) return [];
  const replies = (to: readonly Address[]) => [
    clamp,
    ...byFamily("daddr", to).map(
      (each) =>
        `${each} ct direction reply ct state established,related accept comment "replies to remote devices"`,
    ),
  ];
  return [
    chain(FROM_TUNNELS, null, replies(addressesOf(remote))),
    chain(FROM_LAN, null, [...replies(addressesOf(remote, true)), ...fromLanToHomes(policy)]),
    chain(TO_LAN, null, [
      ...refuse('comment "a resolver on the LAN would query by its own exit"', `${TO_RESOLVER} `),
      'ct state invalid,untracked drop comment "no connection"',
      clamp,
      ...cabled(policy).flatMap((lan) =>
        toLan(remote, lan.prefixes).map(
          (each) => `oifname "${lan.interface}" ${each} accept comment "from remote devices to the LAN"`,
        ),
      ),
      ...fromHomesToLan(policy),
    ]),
  ];
}

/** Into a tunnel: only what has passed the interface's rules is in the tunnel's zone. */
export function remoteIntoTunnel({ remote }: Policy): string[] {
  return fromDevices(remote).map((from) => `${from} accept comment "from remote devices into the tunnel"`);
}

/** To the gateway itself: everything from devices that may reach the LAN, from others only DNS queries. */
export function permitFromRemote({ remote }: Policy): string[] {
  if (remote === undefined) return [];
  return [
    ...fromDevices(remote, true).map((from) => `${from} accept comment "from remote devices to the gateway"`),
    ...fromDevices(remote).map((from) => `${from} ${DNS} accept comment "DNS queries of remote devices"`),
    ...refuseRemote(remote),
  ];
}

export function permitToRemote({ remote }: Policy): string[] {
  if (remote === undefined) return [];
  return byFamily("daddr", addressesOf(remote)).map(
    (to) => `oifname "${remote.interface}" ${to} accept comment "from the gateway to remote devices"`,
  );
}

/** The LAN's devices need no route to remote devices, and many answer only to addresses of their own network. */
export function masqueradeRemote(policy: Policy): string[] {
  const { remote } = policy;
  return among("oifname", namesOf(cabled(policy))).flatMap((lan) =>
    byFamily("saddr", remote?.networks ?? []).map(
      (from) => `${lan} ${from} masquerade comment "the LAN sees remote devices as the gateway"`,
    ),
  );
}

function byExit(policy: Policy, match: string): string[] {
  const { remote } = policy;
  const byWay = Map.groupBy(remote?.devices ?? [], ({ exit }) => wayOf(exit, policy));
  return [...byWay].flatMap(([way, devices]) =>
    byFamily(
      "saddr",
      devices.flatMap(({ addresses }) => addresses),
    ).map((from) => `${match}${from} goto ${way} comment "each device has its exit"`),
  );
}

/** Without a MAC address, direct devices need a chain of their own. */
function wayOf(exit: Exit, policy: Policy): string {
  switch (exit.to) {
    case "direct":
      return directRemotes(policy).length === 0 ? chainOf({ to: "blocked" }, policy) : REMOTE_DIRECT;
    case "tunnel":
    case "blocked":
      return chainOf(exit, policy);
  }
}

function toLan(remote: Remote, prefixes: readonly Prefix[]): string[] {
  const own = [...new Set(prefixes)].filter((prefix) => !isLinkLocal(addressOf(prefix)));
  return byFamily("saddr", addressesOf(remote, true)).flatMap((from) =>
    byFamily("daddr", own)
      .filter((to) => to.split(" ")[0] === from.split(" ")[0])
      .map((to) => `${from} ${to}`),
  );
}

function refuseRemote(remote: Remote): string[] {
  return fromDevices(remote).flatMap((from) =>
    refuse('comment "everything else is rejected at once"', `${from} `),
  );
}

/** Packets of devices, or only of those that may reach the LAN. */
function fromDevices(remote: Remote | undefined, onlyLan = false): string[] {
  if (remote === undefined) return [];
  return on("iifname", remote.interface).flatMap((link) =>
    byFamily("saddr", addressesOf(remote, onlyLan)).map((from) => `${link} ${from}`),
  );
}

function addressesOf({ devices }: Remote, onlyLan = false): Address[] {
  return devices.filter(({ lan }) => lan || !onlyLan).flatMap(({ addresses }) => addresses);
}

function otherThan(family: 4 | 6, addresses: readonly Address[]): string {
  const some = addresses.filter((address) => familyOf(address) === family);
  if (some.length === 0) return `meta nfproto ipv${family}`;
  return `${family === 4 ? "ip" : "ip6"} saddr != ${some.length === 1 ? some[0] : `{ ${some.join(", ")} }`}`;
}
