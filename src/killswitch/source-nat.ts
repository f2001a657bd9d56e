import { familyOf } from "../base/address.ts";
import { keepDirectTranslated, masqueradeDirect } from "./direct.ts";
import { keepDnsInside, REDIRECTED } from "./dns.ts";
import { clientLinks } from "./link.ts";
import { among, chain, headerOf, namesOf, on, toEach } from "./match.ts";
import type { FirewallTunnel, Policy } from "./policy.ts";
import { masqueradeRemote } from "./remote.ts";
import { keepRemotePortFree } from "./remote-socket.ts";

/** The kernel asks no further NAT chain once one has translated a connection, and other programs use `srcnat`. */
const BEFORE_OTHERS = "srcnat - 10";
const BEHIND_ALL = "srcnat + 10";
const REDIRECTED_DNS = "redirected_dns";
const OWN_ERRORS = "own_errors";

/** Runs after routing, for the first packet of each connection. */
export function sourceNat(policy: Policy): string {
  const tunnels = policy.carrying.map((tunnel) => tunnel.interface);
  return chain("source_nat", `type nat hook postrouting priority ${BEFORE_OTHERS}; policy accept;`, [
    ...keepRemotePortFree(policy),
    ...among("oifname", tunnels).map(
      (inside) => `${inside} masquerade comment "the server accepts only the tunnel's address"`,
    ),
    ...masqueradeDirect(policy),
    ...masqueradeRemote(policy),
  ]);
}

/**
 * Runs after NAT, so that nothing leaves with a source other than the one from NAT, even while another program's rule
 * accepts everything that is forwarded. While a tunnel's address is missing, masquerade takes one of another interface
 * (`inet_select_addr`). A connection that came in by a forwarded port keeps the address of its tunnel. The kernel keeps
 * no connection whose first packet is dropped here, so the next packet has another chance. This is not a NAT chain,
 * because the kernel skips those for a connection that a NAT chain of another program has translated.
 */
export function checkLeaving(policy: Policy, blocks: boolean): string[] {
  const { carrying, lans } = policy;
  const tunnels = carrying.map((tunnel) => tunnel.interface);
  return [
    chain("check_leaving", `type filter hook postrouting priority ${BEHIND_ALL}; policy accept;`, [
      // Nearly all packets end at one of these.
      ...among("oifname", namesOf(lans)).map(
        (to) => `ct direction reply ct state established ${to} accept comment "answers to the LAN"`,
      ),
      ...ownAddressesLeave(carrying),
      `${REDIRECTED} jump ${REDIRECTED_DNS} comment "redirected DNS queries"`,
      `ct state related ct status snat,dnat jump ${OWN_ERRORS} comment "errors about translated packets"`,
      ...among("oifname", tunnels).map(
        (to) => `${to} drop comment "only the tunnel's own address leaves by it"`,
      ),
      ...keepDirectTranslated(policy),
    ]),
    keepDnsInside(policy, REDIRECTED_DNS),
    keepErrorsInside(policy, blocks),
  ];
}

/**
 * The kernel's own ICMP errors and resets belong to the connection of the packet that they are about. NAT leads them to
 * where that packet came from, and the output chain still sees the interface from before. What goes into a tunnel, such
 * as a reset for a late answer, must have the tunnel's address like all else. Without the kill switch, containers get
 * the errors about what they send.
 */
function keepErrorsInside(policy: Policy, blocks: boolean): string {
  const { carrying, lans, remote, uplink } = policy;
  const toDevices = lans.flatMap((lan) => toEach(lan.interface, lan.prefixes));
  const tunnels = carrying.map((tunnel) => tunnel.interface);
  const links = ["lo", ...(remote === undefined ? [] : [remote.interface]), ...tunnels];
  return chain(OWN_ERRORS, null, [
    ...among("iifname", clientLinks(policy)).map(
      (from) => `${from} return comment "a device's, not the gateway's"`,
    ),
    ...among("oifname", links).map((to) => `${to} return comment "not outside"`),
    ...toDevices.map((to) => `${to} return comment "to the device that has sent the packet"`),
    ...(blocks ? [""] : on("oifname", uplink).map((to) => `${to} `)).map(
      (outside) => `${outside}drop comment "errors about what devices send do not leave outside the tunnel"`,
    ),
  ]);
}

/** Sets of interfaces with addresses: however many tunnels there are, a packet passes one look-up. */
function ownAddressesLeave(carrying: readonly FirewallTunnel[]): string[] {
  return ([4, 6] as const).flatMap((family) => {
    const pairs = carrying.flatMap(({ interface: link, addresses }) =>
      addresses.filter((address) => familyOf(address) === family).map((address) => ({ link, address })),
    );
    const saddr = `${headerOf(family)} saddr`;
    const [only, ...others] = pairs;
    if (only === undefined) return [];
    const own =
      others.length === 0
        ? `oifname "${only.link}" ${saddr} ${only.address}`
        : `oifname . ${saddr} { ${pairs.map(({ link, address }) => `"${link}" . ${address}`).join(", ")} }`;
    return [`${own} accept comment "each tunnel has its own address"`];
  });
}
