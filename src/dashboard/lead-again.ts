import type { TunnelRow } from "../tunnel/schema.ts";
import { change, pathOf } from "./api.ts";
import { sameTargets } from "./order.ts";

/** Leads a tunnel again to where it should lead. */
export async function leadAgain({
  name,
  provider,
  wanted,
  wanted_via,
  wanted_transport,
  wanted_quantum,
  order,
}: TunnelRow): Promise<void> {
  const one = {
    server: wanted,
    ...(wanted_via !== undefined && { via: wanted_via }),
    ...(wanted_transport !== undefined && { transport: wanted_transport }),
  };
  await change("PUT", pathOf("tunnels", name), {
    ...(order === undefined ? one : sameTargets(order)),
    ...(wanted_quantum !== undefined && { quantum: wanted_quantum }),
    ...(provider !== null && { provider }),
  });
}
