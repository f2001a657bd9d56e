import { masqueradeDirect } from "./direct.ts";
import { among, chain } from "./match.ts";
import type { Policy } from "./policy.ts";

/** The kernel asks no further NAT chain once one has translated a connection, and other programs use `srcnat`. */
const BEFORE_OTHERS = "srcnat - 10";

/** Behind routing, for the first packet of each connection. */
export function sourceNat(policy: Policy): string {
  const tunnels = policy.carrying.map((tunnel) => tunnel.interface);
  return chain("source_nat", `type nat hook postrouting priority ${BEFORE_OTHERS}; policy accept;`, [
    ...among("oifname", tunnels).map(
      (inside) => `${inside} masquerade comment "the server accepts only the tunnel's address"`,
    ),
    ...masqueradeDirect(policy),
  ]);
}
