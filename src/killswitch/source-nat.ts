import { keepDirectTranslated, masqueradeDirect } from "./direct.ts";
import { among, byInterface, chain, namesOf, outsideOf } from "./match.ts";
import type { Policy } from "./policy.ts";
import { masqueradeRemote } from "./remote.ts";

/** The kernel asks no further NAT chain once one has translated a connection, and other programs use `srcnat`. */
const BEFORE_OTHERS = "srcnat - 10";
const BEHIND_ALL = "srcnat + 10";

/** Runs after routing, for the first packet of each connection. */
export function sourceNat(policy: Policy): string {
  const tunnels = policy.carrying.map((tunnel) => tunnel.interface);
  return chain("source_nat", `type nat hook postrouting priority ${BEFORE_OTHERS}; policy accept;`, [
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
 * no connection whose first packet is dropped here, so the next packet has another chance.
 */
export function keepTranslated(policy: Policy): string[] {
  const { carrying, lans, uplink } = policy;
  const inside = namesOf(lans).filter((link) => link !== uplink);
  const ways = carrying.map(({ interface: link }) => [link, `goto ${translated(link)}`] as const);
  const rules = [
    ...byInterface("oifname", ways).map((way) => `${way} comment "each tunnel has its own address"`),
    ...keepDirectTranslated(policy),
  ];
  if (rules.length === 0) return [];
  return [
    chain("keep_translated", `type filter hook postrouting priority ${BEHIND_ALL}; policy accept;`, [
      ...among("oifname", inside).map((to) => `${to} accept comment "to the LAN"`),
      ...rules,
    ]),
    ...carrying.map(({ interface: link, addresses }) =>
      chain(
        translated(link),
        null,
        ([4, 6] as const).map(
          (family) =>
            `${outsideOf("saddr", family, addresses)} drop comment "only the tunnel's own address leaves by it"`,
        ),
      ),
    ),
  ];
}

function translated(link: string): string {
  return `translated_${link}`;
}
