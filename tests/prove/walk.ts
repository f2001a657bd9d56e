import { type Invariant, nothingYet } from "./connections.ts";
import type { Packet } from "./packet.ts";
import type { Term } from "./terms.ts";

/** A packet at the end of its way, and the condition of getting there. */
export interface Walk {
  packet: Packet;
  arrives: Term;
  /** What the kernel can produce. */
  assumed: Term[];
  /** What is assumed besides, once it has been learned. */
  learned: Record<Invariant, Term>;
}

/** Of the gateway's own packet, with the interface that its first route leads to. */
export interface Sent extends Walk {
  first: string;
}

export interface Way {
  iif: string;
  /** Null if it ends at a socket. */
  oif: string | null;
  walk: Walk;
}

export function newWalk(packet: Packet, arrives: Term, assumed: readonly Term[]): Walk {
  return { packet, arrives, assumed: [...assumed], learned: nothingYet() };
}

/** The same up to here, to be gone on with. */
export function branchOf({ packet, arrives, assumed, learned }: Walk): Walk {
  return { arrives, packet: { ...packet }, assumed: [...assumed], learned: { ...learned } };
}
