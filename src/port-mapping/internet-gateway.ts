import { type Address, isPrivate } from "../base/address.ts";
import type { Exemption } from "../killswitch/policy.ts";
import type { Host, HttpsAnswer } from "../system/host.ts";
import { ownPort } from "../tunnel/resolver.ts";
import { type RouterUrl, search, textOfUrl } from "./ssdp.ts";
import {
  type Connection,
  connectionsIn,
  entryIn,
  errorIn,
  externalAddressIn,
  type Fields,
  isUpIn,
  pickedPortIn,
  picksPorts,
  requestFor,
  UPNP_ERROR,
} from "./upnp.ts";

const ANSWER_WITHIN_MS = 5_000;
/** A router's description has some kilobytes. */
const MAX_BYTES = 65_536;
/** Refusals of one port, after which the router chooses. */
const MAX_REFUSALS = 5;
/** Marks the gateway's own mappings in a router's list. */
const DESCRIPTION = "Portcullis";
/** Of a router's list; most have none or a few. */
const MAX_ENTRIES = 64;
const CLEARED_WITHIN_MS = 10_000;
/** Dynamic ports (RFC 6335, section 6). */
const [FIRST_DYNAMIC, DYNAMIC_COUNT] = [49_152, 16_384];

/** A port of this machine's that the router should forward, and which of its own ports. */
export interface PortRequest {
  /** On the cable of `link`. */
  router: Address;
  link: string;
  /** The gateway's own address there. */
  own: Address;
  port: number;
  /** The port of the router's address that devices call, if it is free. */
  external: number;
}

/** What the kill switch permits for a moment: the search, or one TCP connection to the router. */
export interface Contact {
  searchPort?: number;
  exemption?: Exemption;
}

/** The router has no such service, or does not answer. */
export class NotSpoken extends Error {}
/** The router has the service, and refuses. */
export class Refusal extends Error {}

interface Deps {
  host: Pick<Host, "openUdp" | "https" | "sleep" | "monotonic" | "random">;
  /** Replaces what was permitted before; `{}` permits nothing. */
  permit: (router: Address, contact: Contact) => Promise<void>;
}

/** The router's forwarded ports by UPnP (InternetGatewayDevice). */
export class InternetGateway {
  /** What takes requests there, once that is known. */
  private found: { router: Address; connections: Connection[] } | null = null;
  /** The one from which leftovers have been removed since the start. */
  private cleared: Address | null = null;

  constructor(private readonly deps: Deps) {}

  /** Throws `NotSpoken` or `Refusal`. */
  async open(
    request: PortRequest,
    lifetime: number,
    signal: AbortSignal,
  ): Promise<{ external: number; address: Address | null }> {
    const talk = await this.talkWith(request, signal);
    const external = await this.add(talk, lifetime);
    if (this.cleared !== request.router) {
      this.cleared = request.router;
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(CLEARED_WITHIN_MS)]);
      // The port is open, whatever the router answers to this.
      await this.removeLeftovers({ ...talk, signal: inTime }, external).catch(() => signal.throwIfAborted());
    }
    return { external, address: await this.addressOf(talk) };
  }

  async close(request: PortRequest, signal: AbortSignal): Promise<void> {
    await this.send(await this.talkWith(request, signal), "DeletePortMapping", portFields(request.external));
  }

  /**
   * Routers refuse a lease, or a port that is taken, by errors of many kinds. So whatever is refused with an end is asked
   * for without one, and then at another port.
   */
  private async add(talk: Talk, lifetime: number): Promise<number> {
    let offer: Offer = { external: talk.request.external, lease: lifetime };
    for (let refusals = 1; ; refusals += 1) {
      const answer = await this.send(talk, "AddPortMapping", fieldsOf(talk.request, offer));
      if (isDone(answer)) return offer.external;
      const next =
        refusals < MAX_REFUSALS && isFault(answer) ? await this.nextOffer(talk, offer, answer) : null;
      if (next === null) return this.pick(talk, lifetime, answer);
      offer = next;
    }
  }

  private async nextOffer(talk: Talk, offer: Offer, refusal: HttpsAnswer): Promise<Offer | null> {
    const { port } = talk.request;
    switch (errorIn(refusal.body)) {
      case UPNP_ERROR.notAuthorized:
        return null;
      case UPNP_ERROR.samePortOnly:
        return offer.external === port ? null : { ...offer, external: port };
      case UPNP_ERROR.conflict:
      case UPNP_ERROR.conflictWithOthers:
        return (await this.removeOwn(talk, offer)) ? offer : elsewhere(offer, this.deps.host);
      default:
        return offer.lease === 0 ? elsewhere(offer, this.deps.host) : { ...offer, lease: 0 };
    }
  }

  /** Some routers do not renew a mapping. Whether the port was taken by the gateway's own one, which is gone now. */
  private async removeOwn(talk: Talk, { external }: Offer): Promise<boolean> {
    const { own, port } = talk.request;
    const answer = await this.send(talk, "GetSpecificPortMappingEntry", portFields(external));
    const { client, internal } = entryIn(answer.body);
    if (!isDone(answer) || client !== own || internal !== port) return false;
    return isDone(await this.send(talk, "DeletePortMapping", portFields(external)));
  }

  /** The last attempt, at routers that pick a port themselves. */
  private async pick(talk: Talk, lifetime: number, refusal: HttpsAnswer): Promise<number> {
    if (!picksPorts(talk.connection)) throw refused(refusal);
    const offer = { external: talk.request.external, lease: lifetime };
    const answer = await this.send(talk, "AddAnyPortMapping", fieldsOf(talk.request, offer));
    const port = isDone(answer) ? pickedPortIn(answer.body) : null;
    if (port === null || port === 0) throw refused(refusal);
    return port;
  }

  /** What a service that was killed has left there, at another port than this one. Some routers keep it for ever. */
  private async removeLeftovers(talk: Talk, external: number): Promise<void> {
    const left: number[] = [];
    // A router that does not tell its list, or not all of it, keeps the rest.
    for (let index = 0; index < MAX_ENTRIES; index += 1) {
      const answer = await this.send(talk, "GetGenericPortMappingEntry", { NewPortMappingIndex: `${index}` });
      const entry = entryIn(answer.body);
      if (!isDone(answer) || entry.external === null) break;
      const isOwn = entry.client === talk.request.own && entry.description === DESCRIPTION;
      if (isOwn && entry.protocol === "UDP" && entry.external !== external) left.push(entry.external);
    }
    for (const port of left) await this.send(talk, "DeletePortMapping", portFields(port));
  }

  private async talkWith(request: PortRequest, signal: AbortSignal): Promise<Talk> {
    const { router } = request;
    const connections =
      this.found?.router === router ? this.found.connections : await this.find(request, signal);
    this.found = { router, connections };
    const talks = connections.map((connection) => ({ request, connection, signal }));
    return talks.length === 1 ? (talks[0] as Talk) : this.best(talks);
  }

  /** A router has a service for each line, and for each kind of line: the one whose line is up counts. */
  private async best(talks: readonly Talk[]): Promise<Talk> {
    const judged: { talk: Talk; rank: number }[] = [];
    for (const talk of talks) {
      const rank = await this.rankOf(talk);
      judged.push({ talk, rank });
      if (rank === RANK.public) break;
    }
    return judged.reduce((best, each) => (each.rank > best.rank ? each : best)).talk;
  }

  private async rankOf(talk: Talk): Promise<number> {
    const status = await this.send(talk, "GetStatusInfo", {});
    if (!isDone(status) || !isUpIn(status.body)) return RANK.down;
    const address = await this.addressOf(talk);
    if (address === null) return RANK.up;
    return isPrivate(address) ? RANK.private : RANK.public;
  }

  private async addressOf(talk: Talk): Promise<Address | null> {
    const answer = await this.send(talk, "GetExternalIPAddress", {});
    return isDone(answer) ? externalAddressIn(answer.body) : null;
  }

  private async find(request: PortRequest, signal: AbortSignal): Promise<Connection[]> {
    const { router, link, own } = request;
    const port = ownPort(this.deps.host);
    await this.deps.permit(router, { searchPort: port });
    const places = await search({ router, link, own: { address: own, port } }, this.deps.host, signal);
    if (places.length === 0) throw new NotSpoken("silent");
    for (const place of places) {
      const answer = await this.http(request, place, "GET", {}, signal).catch(() => null);
      signal.throwIfAborted();
      const connections = answer?.status === 200 ? connectionsIn(answer.body, router, place) : [];
      if (connections.length > 0) return connections;
    }
    throw new Refusal("its description has no service for ports");
  }

  private async send(
    { request, connection, signal }: Talk,
    name: string,
    fields: Fields,
  ): Promise<HttpsAnswer> {
    const { action, body } = requestFor(connection, name, fields);
    const headers = { "Content-Type": 'text/xml; charset="utf-8"', SOAPAction: action };
    const answer = await this.http(request, connection, "POST", headers, signal, body).catch(
      (error: unknown) => {
        this.found = null;
        throw error;
      },
    );
    // After a restart of the router, or of the program there, the service may be elsewhere.
    if (answer.status !== 200 && !isFault(answer)) this.found = null;
    return answer;
  }

  private async http(
    { router, own }: PortRequest,
    url: RouterUrl,
    method: "GET" | "POST",
    headers: Record<string, string>,
    signal: AbortSignal,
    body?: string,
  ): Promise<HttpsAnswer> {
    const { host, permit } = this.deps;
    const sourcePort = ownPort(host);
    await permit(router, { exemption: { addresses: [router], port: url.port, sourcePort } });
    return host.https(
      {
        ...{ url: textOfUrl(router, url), method, headers, addresses: [router], sourcePort },
        ...{ ownAddresses: [own], withinMs: ANSWER_WITHIN_MS, mostBytes: MAX_BYTES },
        ...(body !== undefined && { body }),
      },
      signal,
    );
  }
}

/** A service of the router's that is being asked, and for what. */
interface Talk {
  request: PortRequest;
  connection: Connection;
  signal: AbortSignal;
}

interface Offer {
  external: number;
  /** In seconds; 0 for a mapping without an end. */
  lease: number;
}

/** A line with an address of the internet is the best; one that is down is better than none. */
const RANK = { down: 0, up: 1, private: 2, public: 3 };

function elsewhere(offer: Offer, host: Pick<Host, "random">): Offer {
  return { ...offer, external: FIRST_DYNAMIC + Math.floor(host.random() * DYNAMIC_COUNT) };
}

/** Some routers answer a refusal with status 200. */
function isDone({ status, body }: HttpsAnswer): boolean {
  return status === 200 && errorIn(body) === null;
}

/** An answer of the service, and not of what else has its address now (UPnP Device Architecture 2.0, 3.2.5). */
function isFault({ status, body }: HttpsAnswer): boolean {
  return status === 500 || errorIn(body) !== null;
}

function refused({ status, body }: HttpsAnswer): Refusal {
  const error = errorIn(body);
  return new Refusal(`refused (${error === null ? `HTTP ${status}` : `error ${error}`})`);
}

function portFields(external: number): Fields {
  return { NewRemoteHost: "", NewExternalPort: `${external}`, NewProtocol: "UDP" };
}

function fieldsOf({ own, port }: PortRequest, { external, lease }: Offer): Fields {
  return {
    ...portFields(external),
    NewInternalPort: `${port}`,
    NewInternalClient: own,
    NewEnabled: "1",
    NewPortMappingDescription: DESCRIPTION,
    NewLeaseDuration: `${lease}`,
  };
}
