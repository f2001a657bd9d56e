import { familyOf } from "../base/address.ts";
import { exitMarkOf } from "../network/slot.ts";
import { headerOf, isMarked } from "./match.ts";
import type { Policy } from "./policy.ts";

/**
 * The gateway's own connection to a server's service inside a tunnel that carries nothing yet. It has the mark of the
 * tunnel's exit, and is in no zone.
 */
export function permitService(direction: "in" | "out", { endpoints }: Policy): string[] {
  return endpoints.flatMap(({ interface: link, mark, service }) => {
    if (service === undefined) return [];
    const { address, port } = service;
    const header = headerOf(familyOf(address));
    return direction === "in"
      ? [
          `iifname "${link}" ${header} saddr ${address} tcp sport ${port} ct state established accept comment "the server's answers about keys"`,
        ]
      : [
          `oifname "${link}" ${isMarked(exitMarkOf(mark))} ${header} daddr ${address} tcp dport ${port} ct state new,established accept comment "agreement on keys with the server"`,
        ];
  });
}
