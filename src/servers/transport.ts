import { GatewayError } from "../base/errors.ts";
import type { Hops } from "./hops.ts";
import type { Place } from "./place.ts";
import { keyedLike } from "./quantum.ts";
import type { Server, Transport, Wish } from "./schema.ts";
import { offers } from "./ways.ts";

/** A target that is reached as was asked. Throws `bad_request` if it does not offer that. */
export function reachedBy<T extends Server | Place | Hops>(target: T, transport: Transport = "auto"): T {
  if (transport === "auto") return target;
  if ("entry" in target || ("via" in target && target.via !== undefined)) {
    if (transport === "plain") return target;
    throw new GatewayError(
      "bad_request",
      "transport: two hops are reached by plain WireGuard only; leave out via, or the transport",
    );
  }
  if (!("servers" in target)) {
    const server = wished(target as Server, transport);
    if (server !== null) return server as T;
    throw new GatewayError(
      "bad_request",
      `transport: ${target.name} does not offer ${transport}; choose another server, or auto`,
    );
  }
  const servers = target.servers.flatMap((each) => wished(each, transport) ?? []);
  if (servers.length > 0) return { ...target, servers };
  throw new GatewayError(
    "bad_request",
    `transport: no server in ${target.name} offers ${transport}; choose another place, or auto`,
  );
}

/** A server that takes another one's place, as that one was asked for; null if it cannot be reached so. */
export function reachedLike(
  server: Server,
  { transport, quantum }: Pick<Server, "transport" | "quantum">,
): Server | null {
  const keyed = keyedLike(server, { ...(quantum && { quantum }) });
  return transport === undefined || keyed.via !== undefined ? keyed : wished(keyed, transport);
}

/** How a target is to be reached, if that was asked for. */
export function wishIn(target: Server | Place | Hops): Server["transport"] {
  if ("entry" in target) return undefined;
  return "servers" in target ? target.servers[0]?.transport : target.transport;
}

function wished(server: Server, transport: Wish): Server | null {
  return offers(server, transport) ? { ...server, transport } : null;
}
