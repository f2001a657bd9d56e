import type { ActiveForward } from "./active-forward.ts";
import { type OpenPort, PortRefusal, type TunnelEnd, type WantedPort } from "./opener.ts";
import type { Opened } from "./port-lease.ts";
import { refused } from "./refusals.ts";
import type { ReservedPort } from "./reserved-port.ts";

/** What the gateway itself uses. */
type Reserved = Pick<ReservedPort, "has">;

/**
 * The port to ask for. No two requests on a way have the same inside port, because NAT-PMP distinguishes them by it.
 */
export function wantedBy(
  held: ActiveForward,
  way: TunnelEnd,
  all: readonly ActiveForward[],
  reserved: Reserved,
): WantedPort {
  const { protocol, fixed, preferred, port } = held;
  if (fixed !== null) refuseTaken(held, way, { inside: fixed }, all, reserved);
  const taken = new Set(othersOn(way, held, all).map(({ port: { inside } }) => inside));
  let inside = port;
  const isTaken = () => taken.has(inside) || (protocol === "udp" && reserved.has(way.tunnel, inside));
  while (isTaken()) inside = inside === 65_535 ? 1_024 : inside + 1;
  return { protocol, inside, external: fixed ?? preferred };
}

/** Throws `PortRefusal` if another forward has the inside port. */
export function refuseTaken(
  held: ActiveForward,
  way: TunnelEnd,
  { inside }: Pick<OpenPort, "inside">,
  all: readonly ActiveForward[],
  reserved: Reserved,
): void {
  if (held.protocol === "udp" && reserved.has(way.tunnel, inside))
    throw new PortRefusal(
      "exhausted",
      refused("port_taken", { by: "remote", port: inside, tunnel: way.tunnel }),
    );
  if (!othersOn(way, held, all).some(({ port }) => port.inside === inside)) return;
  throw new PortRefusal(
    "exhausted",
    refused("port_taken", { by: "forward", port: inside, tunnel: way.tunnel }),
  );
}

function othersOn(way: TunnelEnd, held: ActiveForward, all: readonly ActiveForward[]): Opened[] {
  return all.flatMap(({ protocol, keeper }) => {
    const { opened } = keeper;
    const isSame = keeper === held.keeper || protocol !== held.protocol;
    return isSame || opened?.way.session !== way.session ? [] : [opened];
  });
}
