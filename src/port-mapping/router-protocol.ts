import type { Address } from "../base/address.ts";
import type { NoAnswer, Question } from "./exchange.ts";
import { type InternetGateway, NotSpoken, type PortRequest } from "./internet-gateway.ts";

/** A UDP port of this machine that the home router should forward, or for IPv6 let through. */
export type RouterRequest = PortRequest;

/** What the router has granted. */
export interface Granted {
  external: number;
  /** As the router says; null if it does not. */
  address: Address | null;
  /** In seconds. */
  lifetime: number;
  /** Seconds since the router lost its mappings; null if the protocol has none. */
  epoch: number | null;
}

/** A protocol in which a home router is asked for a port: a row of `router-protocols.ts`. */
export interface RouterProtocol {
  /** For people. */
  title: string;
  /** Of the addresses for which it has ports. */
  families: readonly (4 | 6)[];
  /** A lifetime of 0 seconds gives the port back. Throws `NotSpoken` or `Refusal`. */
  map(request: RouterRequest, lifetime: number, means: Means): Promise<Granted>;
}

/** What a protocol asks with. */
export interface Means {
  ask<Answer>(question: Question<Answer>): Promise<Answer | NoAnswer>;
  /** The same for all requests, also after a restart: with PCP, only its holder can change the mapping. */
  nonce: () => Uint8Array;
  upnp: InternetGateway;
  /** Forbids again what UPnP was let out for. */
  forbid: () => Promise<void>;
  signal: AbortSignal;
}

export function spoken<Answer extends object>(answer: Answer | NoAnswer): Answer {
  if (typeof answer === "string") throw new NotSpoken(answer);
  return answer;
}
