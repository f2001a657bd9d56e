import type { Hops } from "./hops.ts";
import type { Place } from "./place.ts";
import { refused } from "./refusals.ts";
import { QUANTUM, type Quantum, type Server } from "./schema.ts";

/** A target whose keys are as was asked. Throws `bad_request` if its provider does not offer that. */
export function keyedAs<T extends Server | Place | Hops>(target: T, quantum: Quantum = "off"): T {
  if (quantum === "off") return target;
  if ("entry" in target) return { ...target, exit: keyedAs(target.exit, quantum) };
  const servers = ("servers" in target ? target.servers : [target as Server]).filter(
    ({ ephemeralPeers }) => ephemeralPeers,
  );
  const [first, ...others] = servers.map((server) => ({ ...server, quantum }));
  if (first === undefined) throw refused("quantum_unsupported", { server: target.name });
  return ("servers" in target ? { ...target, servers: [first, ...others] } : first) as T;
}

/** A target whose keys are as those of the tunnel were to be before: that is kept where nothing else is asked for. */
export function keyedAsBefore<T extends Server | Place | Hops>(target: T, before: Quantum = "off"): T {
  return before === "on" && !offers(target) ? target : keyedAs(target, before);
}

function offers(target: Server | Place | Hops): boolean {
  if ("entry" in target) return offers(target.exit);
  return ("servers" in target ? target.servers : [target]).some(({ ephemeralPeers }) => ephemeralPeers);
}

/**
 * A server that takes another one's place, with what was asked for that one. What its list says of it does not count: a
 * tunnel that requires such keys must not come back without them.
 */
export function keyedLike(server: Server, { quantum }: Pick<Server, "quantum">): Server {
  return quantum === undefined ? server : { ...server, quantum };
}

/** The one of two wishes that permits less. */
export function stricter(one: Quantum = "off", other: Quantum = "off"): Quantum {
  return QUANTUM.indexOf(one) < QUANTUM.indexOf(other) ? other : one;
}

/** How the keys of a target are to be, if that was asked for. */
export function quantumIn(target: Server | Place | Hops): Server["quantum"] {
  if ("entry" in target) return quantumIn(target.exit);
  return "servers" in target ? target.servers[0]?.quantum : target.quantum;
}
