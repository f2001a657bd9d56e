import { type Address, familyOf } from "../base/address.ts";
import { ROUTER_MARK } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { exchange, type NoAnswer, type Question } from "./exchange.ts";
import { type Contact, InternetGateway, NotSpoken } from "./internet-gateway.ts";
import { refused } from "./refusals.ts";
import type { Granted, RouterRequest } from "./router-protocol.ts";
import { ROUTER_PROTOCOL_NAMES, ROUTER_PROTOCOLS, type RouterProtocolName } from "./router-protocols.ts";

/** A mapping that is no longer renewed, because the gateway is without power for example, is soon gone. */
export const LIFETIME_S = 600;
/** The waits for an answer add up to 3.75 s. */
const ATTEMPTS = 4;
/** For what expires anyway. */
const FEW_ATTEMPTS = 2;

export interface RouterMapping extends Granted {
  by: RouterProtocolName;
}

interface Deps {
  host: Pick<Host, "openUdp" | "https" | "sleep" | "monotonic" | "random">;
  /** Replaces what was permitted for UPnP before; `{}` permits nothing. */
  permit: (router: Address, contact: Contact) => Promise<void>;
  /** The same for all requests, also after a restart: with PCP, only its holder can change the mapping. */
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
    latest: RouterProtocolName | null,
    signal: AbortSignal,
  ): Promise<RouterMapping> {
    const refusals: string[] = [];
    const all = ROUTER_PROTOCOL_NAMES.filter((name) =>
      ROUTER_PROTOCOLS[name].families.includes(familyOf(request.own)),
    );
    for (const protocol of all.toSorted((a, b) => Number(b === latest) - Number(a === latest))) {
      try {
        const mapping = await this.by(protocol, request, LIFETIME_S, signal);
        if (mapping.external !== 0 && mapping.lifetime !== 0) return mapping;
        refusals.push(`${ROUTER_PROTOCOLS[protocol].title}: it forwards no port, although it says so`);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof NotSpoken))
          refusals.push(
            `${ROUTER_PROTOCOLS[protocol].title}: ${error instanceof Error ? error.message : error}`,
          );
      }
    }
    const names = all.map((protocol) => ROUTER_PROTOCOLS[protocol].title).join(", ");
    const why = refusals.length === 0 ? `it does not answer ${names}` : refusals.join("; ");
    throw refused("home_router_refused", { router: request.router, reason: why });
  }

  /** Asks it to forget the mapping. What it answers has no effect. */
  async unmap(request: RouterRequest, mapping: RouterMapping, signal: AbortSignal): Promise<void> {
    await this.by(mapping.by, { ...request, external: mapping.external }, 0, signal).catch(() => {});
  }

  private async by(
    protocol: RouterProtocolName,
    request: RouterRequest,
    lifetime: number,
    signal: AbortSignal,
  ): Promise<RouterMapping> {
    const { permit, nonce } = this.deps;
    const granted = await ROUTER_PROTOCOLS[protocol].map(request, lifetime, {
      ask: (question) => this.ask(question, request, lifetime, signal),
      forbid: () => permit(request.router, {}),
      ...{ nonce, upnp: this.upnp, signal },
    });
    return { by: protocol, ...granted };
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
