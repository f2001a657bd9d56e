import { keepDnsInside } from "./dns.ts";
import { among, chain } from "./match.ts";
import type { Policy } from "./policy.ts";

/** Behind routing, for the first packet of each connection. */
export function sourceNat({ carrying }: Policy): string {
  const tunnels = carrying.map((tunnel) => tunnel.interface);
  return chain("source_nat", "type nat hook postrouting priority srcnat; policy accept;", [
    ...among("oifname", tunnels).map(
      (inside) => `${inside} masquerade comment "the server accepts only the tunnel's address"`,
    ),
    keepDnsInside(),
  ]);
}
