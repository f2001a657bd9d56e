import { familyOf, type Prefix } from "../base/address.ts";
import { DIRECT_MARK } from "../network/slot.ts";
import { byFamily, chain, DNS, isMarked, outsideOf, setMark } from "./match.ts";
import { directRemotes, type Policy } from "./policy.ts";
import { remoteZoneOf } from "./remote-part.ts";

/** The chain of direct remote devices, which have no MAC address. */
export const REMOTE_DIRECT = "exit_direct_remote";
const INTO_UPLINK = "remote_into_uplink";

/** Marks what they send, and keeps the connections of each apart. Packets of other devices do not get here. */
export function leaveDirectlyFromRemote(policy: Policy): string[] {
  const devices = directRemotes(policy);
  if (devices.length === 0) return [];
  return [
    chain(REMOTE_DIRECT, null, [
      `${setMark(DIRECT_MARK)} comment "the mark selects the machine's own routes"`,
      ...devices.flatMap(({ id, addresses }) =>
        byFamily("saddr", addresses).map(
          (from) =>
            `${from} ct original zone set ${remoteZoneOf(id)} accept comment "each device has its own connections"`,
        ),
      ),
      'drop comment "only direct devices use the uplink"',
    ]),
  ];
}

/** Between the interface of remote devices and the uplink, for packets with the mark. */
export function forwardRemoteDirect(policy: Policy): string[] {
  const { remote, uplink } = policy;
  const devices = directRemotes(policy);
  if (remote === undefined || devices.length === 0) return [];
  const back = `${isMarked(DIRECT_MARK)} ct direction reply ct state established,related accept`;
  return [
    ...byFamily("daddr", addressesOf(devices)).map(
      (to) =>
        `iifname "${uplink}" oifname "${remote.interface}" ${to} ${back} comment "replies to direct remote devices"`,
    ),
    `iifname "${remote.interface}" oifname "${uplink}" ${isMarked(DIRECT_MARK)} jump ${INTO_UPLINK} comment "only direct devices use the uplink"`,
  ];
}

/**
 * What they send to the uplink. With one card the LAN is there, and with two often a home router: a device that may not
 * reach the LAN reaches neither, but for the resolver that the gateway has chosen.
 */
export function remoteIntoUplink(policy: Policy, rules: readonly string[]): string[] {
  const { lans, uplinkPrefixes } = policy;
  const devices = directRemotes(policy);
  if (devices.length === 0) return [];
  const home = [...new Set([...lans.flatMap(({ prefixes }) => prefixes), ...uplinkPrefixes])];
  const others = devices.filter(({ lan }) => !lan);
  const ways = [
    ...from(devices.filter(({ lan }) => lan)).map(({ match }) => match),
    ...from(others).map(({ match }) => `${match} ct status dnat ${DNS}`),
    ...from(others).map(({ match, family }) => `${match}${awayFrom(home, family)}`),
  ];
  return [
    chain(INTO_UPLINK, null, [
      ...ways.map((way) => `${way} ${KNOWN} accept comment "known connections of direct devices"`),
      ...rules,
      ...ways.map((way) => `${way} accept comment "from direct remote devices to the uplink"`),
    ]),
  ];
}

const KNOWN = "ct direction original ct state established,related";

type Devices = ReturnType<typeof directRemotes>;

function from(devices: Devices): { match: string; family: 4 | 6 }[] {
  return byFamily("saddr", addressesOf(devices)).map((match) => ({
    match,
    family: match.startsWith("ip6 ") ? 6 : 4,
  }));
}

function awayFrom(home: readonly Prefix[], family: 4 | 6): string {
  const isAny = home.some((prefix) => familyOf(prefix) === family);
  return isAny ? ` ${outsideOf("daddr", family, home)}` : "";
}

function addressesOf(devices: Devices) {
  return devices.flatMap(({ addresses }) => addresses);
}
