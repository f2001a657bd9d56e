import { type Address, familyOf } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import type { Exemption } from "../killswitch/policy.ts";
import { ROUTER_MARK } from "../network/slot.ts";
import { ROUTER_PROTOCOLS } from "../shared/words.ts";
import type { Host, HttpsAnswer } from "../system/host.ts";
import { ownPort } from "../tunnel/resolver.ts";
import { exchange, type NoAnswer, type Question } from "./exchange.ts";
import { questionOf, RESULT } from "./nat-pmp.ts";
import { PCP_RESULT, type PcpAnswer, pcpQuestionOf } from "./pcp.ts";
import { type RouterUrl, searchFor, textOfUrl } from "./ssdp.ts";
import {
  type Connection,
  connectionIn,
  type Entry,
  entryIn,
  errorIn,
  externalAddressIn,
  requestFor,
  UPNP_ERROR,
} from "./upnp.ts";

/** A mapping that is no longer renewed, because the gateway is without power for example, is soon gone. */
export const LIFETIME_S = 600;
/** The waits for an answer add up to 3.75 s. */
const ATTEMPTS = 4;
/** For what expires anyway. */
const FEW_ATTEMPTS = 2;
const ANSWER_WITHIN_MS = 5_000;
/** A router's description has some kilobytes. */
const MAX_BYTES = 65_536;
/** Ports that another computer at home may have. */
const MAX_CONFLICTS = 3;
/** By this one, a router's list tells what the gateway has asked for. */
const DESCRIPTION = "Portcullis";
/** Of a router's list; most have none or a few. */
const MAX_ENTRIES = 64;
const CLEARED_WITHIN_MS = 10_000;
/** Dynamic ports (RFC 6335, section 6). */
const [FIRST_DYNAMIC, DYNAMIC_COUNT] = [49_152, 16_384];

const PROTOCOLS = ["pcp", "nat-pmp", "upnp"] as const;
export type RouterProtocol = (typeof PROTOCOLS)[number];

/** A UDP port of this machine that the home router should forward, or for IPv6 let through. */
export interface RouterRequest {
  /** On the cable of `link`. */
  router: Address;
  link: string;
  /** The gateway's own address there. */
  own: Address;
  port: number;
  /** The port of the router's address that devices call, if it is free. */
  external: number;
}

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

/** The router does not speak the protocol. */
class NotSpoken extends Error {}
/** The router does, and refuses. */
class Refusal extends Error {}

interface Deps {
  host: Pick<Host, "openUdp" | "https" | "sleep" | "monotonic">;
  /** Lets one TCP connection to the router out, in place of the one before; none with null. */
  permit: (router: Address, exemption: Exemption | null) => Promise<void>;
  /** The same for all requests, also after a restart: PCP lets nobody else change the mapping. */
  nonce: () => Uint8Array;
}

/** Asks the home router for a port, in the first protocol that it grants one in. */
export class HomeRouter {
  /** Where it takes UPnP's requests, once that is known. */
  private connection: { router: Address; at: Connection } | null = null;
  /** The one from which leftovers have been removed since the start. */
  private cleared: Address | null = null;

  constructor(private readonly deps: Deps) {}

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
        return (
          lifetime === 0 ? this.endUpnp(request, signal) : this.byUpnp(request, lifetime, signal)
        ).finally(() => this.deps.permit(request.router, null));
    }
  }

  private async byPcp(request: RouterRequest, lifetime: number, signal: AbortSignal): Promise<RouterMapping> {
    const { own, port: internal, external } = request;
    const question = pcpQuestionOf({ own, nonce: this.deps.nonce(), internal, external, lifetime });
    const answer = spoken(await this.ask(question, request, lifetime, signal));
    if (answer.result !== PCP_RESULT.success) throw new Refusal(pcpRefusal(answer));
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
    const connection = await this.connectionOf(request, signal);
    let { external } = request;
    let lease = lifetime;
    for (let conflicts = 0; ; ) {
      const answer = await this.send(
        request,
        connection,
        "AddPortMapping",
        fieldsOf(request, external, lease),
        signal,
      );
      if (answer.status === 200) break;
      const error = errorIn(answer.body);
      if (error === UPNP_ERROR.onlyPermanent && lease !== 0) lease = 0;
      else if (error === UPNP_ERROR.conflict && conflicts++ < MAX_CONFLICTS)
        external = FIRST_DYNAMIC + Math.floor(Math.random() * DYNAMIC_COUNT);
      else throw new Refusal(`refused (${error === null ? `HTTP ${answer.status}` : `error ${error}`})`);
    }
    if (this.cleared !== request.router) {
      this.cleared = request.router;
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(CLEARED_WITHIN_MS)]);
      // The port is open, whatever the router answers to this.
      await this.removeLeftovers(request, connection, external, inTime).catch(() => signal.throwIfAborted());
    }
    const told = await this.send(request, connection, "GetExternalIPAddress", {}, signal);
    const address = told.status === 200 ? externalAddressIn(told.body) : null;
    return { by: "upnp", external, address, lifetime, epoch: null };
  }

  /** What a service that was killed has left there, at another port than this one. Some routers keep it for ever. */
  private async removeLeftovers(
    request: RouterRequest,
    connection: Connection,
    external: number,
    signal: AbortSignal,
  ): Promise<void> {
    const left: Entry[] = [];
    // A router that does not tell its list, or not all of it, keeps the rest.
    for (let index = 0; index < MAX_ENTRIES; index += 1) {
      const fields = { NewPortMappingIndex: `${index}` };
      const answer = await this.send(request, connection, "GetGenericPortMappingEntry", fields, signal);
      const entry = answer.status === 200 ? entryIn(answer.body) : null;
      if (entry === null) break;
      const isOwn = entry.client === request.own && entry.description === DESCRIPTION;
      if (isOwn && entry.protocol === "UDP" && entry.external !== external) left.push(entry);
    }
    for (const entry of left)
      await this.send(request, connection, "DeletePortMapping", fieldsOfPort(entry.external), signal);
  }

  private async endUpnp(request: RouterRequest, signal: AbortSignal): Promise<RouterMapping> {
    const { external } = request;
    const connection = await this.connectionOf(request, signal);
    await this.send(request, connection, "DeletePortMapping", fieldsOfPort(external), signal);
    return { by: "upnp", external, address: null, lifetime: 0, epoch: null };
  }

  private async connectionOf(request: RouterRequest, signal: AbortSignal): Promise<Connection> {
    const { router } = request;
    if (this.connection?.router === router) return this.connection.at;
    const found = spoken(await this.ask(searchFor(router), request, LIFETIME_S, signal));
    const { status, body } = await this.http(request, found, "GET", {}, signal);
    const at = status === 200 ? connectionIn(body, router, found) : null;
    if (at === null) throw new Refusal("its description has no service for ports");
    this.connection = { router, at };
    return at;
  }

  private async send(
    request: RouterRequest,
    connection: Connection,
    name: string,
    fields: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HttpsAnswer> {
    const { action, body } = requestFor(connection, name, fields);
    const headers = { "Content-Type": 'text/xml; charset="utf-8"', SOAPAction: action };
    const answer = await this.http(request, connection, "POST", headers, signal, body).catch(
      (error: unknown) => {
        this.connection = null;
        throw error;
      },
    );
    // After a restart of the router, or of the program there, the service may be elsewhere.
    if (answer.status !== 200 && errorIn(answer.body) === null) this.connection = null;
    return answer;
  }

  private async http(
    { router, own }: RouterRequest,
    url: RouterUrl,
    method: "GET" | "POST",
    headers: Record<string, string>,
    signal: AbortSignal,
    body?: string,
  ): Promise<HttpsAnswer> {
    const { host, permit } = this.deps;
    const sourcePort = ownPort();
    await permit(router, { addresses: [router], port: url.port, sourcePort });
    return host.https(
      {
        ...{ url: textOfUrl(router, url), method, headers, addresses: [router], sourcePort },
        ...{ ownAddresses: [own], withinMs: ANSWER_WITHIN_MS, mostBytes: MAX_BYTES },
        ...(body !== undefined && { body }),
      },
      signal,
    );
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

function pcpRefusal({ result }: PcpAnswer): string {
  return `refused (result ${result})`;
}

function fieldsOfPort(external: number) {
  return { NewRemoteHost: "", NewExternalPort: `${external}`, NewProtocol: "UDP" };
}

function fieldsOf({ own, port }: RouterRequest, external: number, lease: number) {
  return {
    NewRemoteHost: "",
    NewExternalPort: `${external}`,
    NewProtocol: "UDP",
    NewInternalPort: `${port}`,
    NewInternalClient: own,
    NewEnabled: "1",
    NewPortMappingDescription: DESCRIPTION,
    NewLeaseDuration: `${lease}`,
  };
}
