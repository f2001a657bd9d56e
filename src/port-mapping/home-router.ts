import { type Address, familyOf } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { ROUTER_MARK } from "../network/slot.ts";
import { ROUTER_PROTOCOLS } from "../shared/words.ts";
import type { Host } from "../system/host.ts";
import { exchange, type NoAnswer, type Question } from "./exchange.ts";
import { type Contact, InternetGateway, NotSpoken, type PortRequest, Refusal } from "./internet-gateway.ts";
import { questionOf, RESULT } from "./nat-pmp.ts";
import { PCP_RESULT, pcpQuestionOf } from "./pcp.ts";

/** A mapping that is no longer renewed, because the gateway is without power for example, is soon gone. */
export const LIFETIME_S = 600;
/** The waits for an answer add up to 3.75 s. */
const ATTEMPTS = 4;
/** For what expires anyway. */
const FEW_ATTEMPTS = 2;

const PROTOCOLS = ["pcp", "nat-pmp", "upnp"] as const;
export type RouterProtocol = (typeof PROTOCOLS)[number];

/** A UDP port of this machine that the home router should forward, or for IPv6 let through. */
export type RouterRequest = PortRequest;

export interface RouterMapping {
  by: RouterProtocol;
  external: number;
  /** As the router says; null if it does not. */
  address: Address | null;
  /** In seconds. */
  lifetime: number;
  /** Seconds since the router lost its mappings; null if the protocol has none. */
  epoch: number | null;
}

interface Deps {
  host: Pick<Host, "openUdp" | "https" | "sleep" | "monotonic">;
  /** Replaces what was let out for UPnP before; nothing is with `{}`. */
  permit: (router: Address, contact: Contact) => Promise<void>;
  /** The same for all requests, also after a restart: PCP lets nobody else change the mapping. */
  nonce: () => Uint8Array;
}

/** Asks the home router for a port, in the first protocol that it grants one in. */
export class HomeRouter {
  private readonly upnp: InternetGateway;

  constructor(private readonly deps: Deps) {
    this.upnp = new InternetGateway(deps);
  }

  /** Throws `GatewayError("unable")` that says why, if no protocol works; an abort throws the signal's reason. */
  async map(
    request: RouterRequest,
    latest: RouterProtocol | null,
    signal: AbortSignal,
  ): Promise<RouterMapping> {
    const refusals: string[] = [];
    // UPnP has another service for IPv6, which routers offer to programs of the same address only.
    const all = familyOf(request.own) === 6 ? (["pcp"] as const) : PROTOCOLS;
    for (const protocol of all.toSorted((a, b) => Number(b === latest) - Number(a === latest))) {
      try {
        const mapping = await this.by(protocol, request, LIFETIME_S, signal);
        if (mapping.external !== 0 && mapping.lifetime !== 0) return mapping;
        refusals.push(`${ROUTER_PROTOCOLS[protocol]}: it forwards no port, although it says so`);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof NotSpoken))
          refusals.push(`${ROUTER_PROTOCOLS[protocol]}: ${error instanceof Error ? error.message : error}`);
      }
    }
    const names = all.map((protocol) => ROUTER_PROTOCOLS[protocol]).join(", ");
    const why = refusals.length === 0 ? `it does not answer ${names}` : refusals.join("; ");
    throw new GatewayError("unable", `the home router ${request.router} forwards no port by itself (${why})`);
  }

  /** Asks it to forget the mapping. What it answers has no effect. */
  async unmap(request: RouterRequest, mapping: RouterMapping, signal: AbortSignal): Promise<void> {
    await this.by(mapping.by, { ...request, external: mapping.external }, 0, signal).catch(() => {});
  }

  private by(
    protocol: RouterProtocol,
    request: RouterRequest,
    lifetime: number,
    signal: AbortSignal,
  ): Promise<RouterMapping> {
    switch (protocol) {
      case "pcp":
        return this.byPcp(request, lifetime, signal);
      case "nat-pmp":
        return this.byNatPmp(request, lifetime, signal);
      case "upnp":
        return this.byUpnp(request, lifetime, signal).finally(() => this.deps.permit(request.router, {}));
    }
  }

  private async byPcp(request: RouterRequest, lifetime: number, signal: AbortSignal): Promise<RouterMapping> {
    const { own, port: internal, external } = request;
    const question = pcpQuestionOf({ own, nonce: this.deps.nonce(), internal, external, lifetime });
    const answer = spoken(await this.ask(question, request, lifetime, signal));
    if (answer.result !== PCP_RESULT.success) throw new Refusal(`refused (result ${answer.result})`);
    const { address, epoch } = answer;
    return { by: "pcp", external: answer.external, address, lifetime: answer.lifetime, epoch };
  }

  private async byNatPmp(
    request: RouterRequest,
    lifetime: number,
    signal: AbortSignal,
  ): Promise<RouterMapping> {
    const { port: internal } = request;
    const external = lifetime === 0 ? 0 : request.external;
    const asked = { asks: "mapping", protocol: "udp", internal, external, lifetime } as const;
    const answer = spoken(await this.ask(questionOf(asked), request, lifetime, signal));
    if (answer.answers !== "mapping" || answer.result !== RESULT.success)
      throw new Refusal(`refused (result ${answer.result})`);
    const { epoch } = answer;
    const told =
      lifetime === 0 ? null : await this.ask(questionOf({ asks: "address" }), request, lifetime, signal);
    const address = typeof told === "object" && told?.answers === "address" ? told.address : null;
    return { by: "nat-pmp", external: answer.external, address, lifetime: answer.lifetime, epoch };
  }

  private async byUpnp(
    request: RouterRequest,
    lifetime: number,
    signal: AbortSignal,
  ): Promise<RouterMapping> {
    const { external } = request;
    if (lifetime > 0)
      return { by: "upnp", lifetime, epoch: null, ...(await this.upnp.open(request, lifetime, signal)) };
    await this.upnp.close(request, signal);
    return { by: "upnp", external, address: null, lifetime, epoch: null };
  }

  private ask<Answer>(
    question: Question<Answer>,
    { router: address, link, own }: RouterRequest,
    lifetime: number,
    signal: AbortSignal,
  ): Promise<Answer | NoAnswer> {
    const server = { address, link, mark: ROUTER_MARK, own: { address: own, port: 0 } };
    const attempts = lifetime === 0 ? FEW_ATTEMPTS : ATTEMPTS;
    return exchange(question, { host: this.deps.host, server, attempts, signal });
  }
}

function spoken<Answer extends object>(answer: Answer | NoAnswer): Answer {
  if (typeof answer === "string") throw new NotSpoken(answer);
  return answer;
}
