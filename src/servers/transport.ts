import type { Hops } from "./hops.ts";
import type { Place } from "./place.ts";
import { keyedLike } from "./quantum.ts";
import { refused } from "./refusals.ts";
import type { Server, Transport, Wish } from "./schema.ts";
import { offers } from "./ways.ts";

/** A target that is reached as was asked. Throws `bad_request` if it does not offer that. */
export function reachedBy<T extends Server | Place | Hops>(target: T, transport: Transport = "auto"): T {
  if (transport === "auto") return target;
  if ("entry" in target || ("via" in target && target.via !== undefined)) {
    if (transport === "plain") return target;
    throw refused("transport_with_via");
  }
  if (!("servers" in target)) {
    const server = wished(target as Server, transport);
    if (server !== null) return server as T;
    throw refused("transport_unsupported", { of: "server", server: target.name, transport });
  }
  const servers = target.servers.flatMap((each) => wished(each, transport) ?? []);
  if (servers.length > 0) return { ...target, servers };
  throw refused("transport_unsupported", { of: "place", server: target.name, transport });
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
