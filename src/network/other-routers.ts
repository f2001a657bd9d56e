import { type Address, familyOf, parseAddress } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import { nextBeat } from "../base/beat.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Host, LinkSocket } from "../system/host.ts";
import { type Route, showRoutes } from "../system/ip.ts";
import { chosenServerIn, type Offer, offersOn } from "./dhcp.ts";
import type { HostNetwork } from "./host-network.ts";
import { ALL_ROUTERS_MAC, routerAdvertisementIn, routerSolicitation } from "./router-advertisement.ts";

/** A machine that advertises another router or resolver than the gateway to devices of the LAN. */
export interface OtherRouter {
  interface: string;
  /** The address of the IPv6 router, or of the DHCP server. */
  address: Address;
  mac: string;
  /** What it advertises. */
  routers: readonly Address[];
  resolvers: readonly Address[];
}

interface Deps {
  host: Pick<Host, "listenOn" | "run" | "sleep" | "monotonic">;
  alarm: Alarm;
  log: Pick<Log, "warn">;
}

/** How often incoming messages are read; the kernel keeps them until then. */
const READ_EVERY_MS = 6_000;
/** How often DHCP servers are asked; sooner if the network has changed or a server has not answered. */
const ASK_EVERY_MS = 300_000;
const ASK_AGAIN_MS = 30_000;
/** A DHCP server that does not answer this many questions in a row is gone. */
const MAX_MISSED = 2;
/** IPv6 routers advertise themselves at least every half hour (RFC 4861, section 6.2.1). One that does not is gone. */
const SILENT_MS = 2_100_000;
/** How many are kept for each link: a hostile host can be any number of routers. */
const MAX_ON_LINK = 16;
/** Hosts may also come and go all the time. The first one is reported at once. */
const TOLD_EVERY_MS = 60_000;
const MAX_NAMED = 3;

/** The listening sockets of one link. */
interface LinkSockets {
  routers: LinkSocket;
  /** Receives requests of devices to DHCP servers: unlike the answers, they go to the whole LAN. */
  requests: LinkSocket;
}

/** An IPv6 router and the end of its advertisement, or a DHCP server and the number of questions that it has missed. */
interface Heard extends OtherRouter {
  endsAt: number;
  missed: number;
}

/**
 * Listens to router advertisements and DHCP of other machines of the LAN. Sends an alert if one leads devices past the
 * gateway, and another one when that is over.
 */
export class OtherRouters {
  private network: HostNetwork | null = null;
  private readonly sockets = new Map<string, LinkSockets>();
  /** DHCP servers that have answered on each link, whatever they offered. */
  private readonly answered = new Map<string, readonly Address[]>();
  private readonly heard = new Map<string, Heard>();
  private askedAt = Number.NEGATIVE_INFINITY;
  private askAt = Number.NEGATIVE_INFINITY;
  /**
   * Whether there may be IPv6 routers that were not heard yet. Their answers wake every phone, so they are asked once.
   */
  private isNew = true;
  private trouble: string | null = null;
  private told: readonly string[] = [];
  private toldAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly deps: Deps) {}

  /** Those that lead devices past the gateway now, in the order in which they were heard. */
  get current(): readonly OtherRouter[] {
    return [...this.heard.values()];
  }

  /** Whether all links of the LAN are listened to. */
  get isListening(): boolean {
    return this.sockets.size > 0 && this.trouble === null;
  }

  /** The machine's network as found last. */
  networkIs(network: HostNetwork): void {
    // An answer of a router causes events without changing anything.
    if (Bun.deepEquals(network, this.network)) return;
    this.network = network;
    this.isNew = true;
    this.askAgain();
  }

  /** Listens until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { host } = this.deps;
    while (!signal.aborted) {
      await nextBeat(host, READ_EVERY_MS, signal);
      if (signal.aborted) break;
      await this.look(signal).then(
        () => this.failed(null),
        (error: unknown) => this.failed(messageOf(error)),
      );
    }
    for (const link of this.sockets.keys()) this.close(link);
  }

  private async look(signal: AbortSignal): Promise<void> {
    this.read();
    const refused = await this.listen().then(
      () => null,
      (error: unknown) => ({ error }),
    );
    if (this.deps.host.monotonic() >= this.askAt) await this.ask(signal);
    this.read();
    this.tell();
    // The other links are listened to in any case.
    if (refused !== null) throw refused.error;
  }

  private failed(trouble: string | null): void {
    if (trouble !== null && trouble !== this.trouble)
      this.deps.log.warn(`what other routers tell the LAN cannot be heard: ${trouble}`);
    this.trouble = trouble;
  }

  /** Opens sockets on new links, and forgets what is no longer LAN. Throws if the kernel refuses one. */
  private async listen(): Promise<void> {
    const lans = this.network?.lans.map((lan) => lan.interface) ?? [];
    for (const link of this.sockets.keys()) if (!lans.includes(link)) this.close(link);
    for (const [key, { interface: link }] of this.heard) if (!lans.includes(link)) this.heard.delete(key);
    const fresh = lans.filter((each) => !this.sockets.has(each));
    const opened = await Promise.allSettled(fresh.map((link) => this.open(link)));
    const refused = opened.find((each) => each.status === "rejected");
    if (refused !== undefined) throw refused.reason;
  }

  private async open(link: string): Promise<void> {
    const { host } = this.deps;
    const routers = await host.listenOn(link, "router advertisements");
    const requests = await host.listenOn(link, "dhcp requests").catch((error: unknown) => {
      routers.close();
      throw error;
    });
    this.sockets.set(link, { routers, requests });
    this.isNew = true;
    this.askAgain();
  }

  private close(link: string): void {
    for (const socket of Object.values(this.sockets.get(link) ?? {})) socket.close();
    this.sockets.delete(link);
    this.answered.delete(link);
  }

  private askAgain(): void {
    this.askAt = Math.min(this.askAt, this.askedAt + ASK_AGAIN_MS);
  }

  /** Asks other machines for their advertisements. The answers of IPv6 routers are read with their other messages. */
  private async ask(signal: AbortSignal): Promise<void> {
    const { host } = this.deps;
    this.askedAt = host.monotonic();
    this.askAt = this.askedAt + ASK_EVERY_MS;
    const solicitation = routerSolicitation();
    if (this.isNew)
      for (const { routers } of this.sockets.values()) routers.send(ALL_ROUTERS_MAC, solicitation);
    this.isNew = false;
    const homeRouters = await homeRoutersOf(host);
    const links = [...this.sockets.keys()];
    const all = await Promise.all(links.map((link) => offersOn(host, link, signal).catch(() => null)));
    for (const [at, link] of links.entries()) {
      const offers = all[at] ?? null;
      if (offers !== null && !signal.aborted) this.takeOffers(link, offers, homeRouters);
    }
  }

  private takeOffers(link: string, offers: readonly Offer[], homeRouters: readonly Address[]): void {
    this.answered.set(
      link,
      offers.map(({ server }) => server),
    );
    const found = offers.flatMap((offer) => this.past(offer, homeRouters));
    for (const each of found) this.keep({ ...each, endsAt: Number.POSITIVE_INFINITY, missed: 0 });
    for (const heard of this.heard.values()) {
      const { interface: where, address } = heard;
      const isAsked = where === link && familyOf(address) === 4;
      if (!isAsked || found.some((each) => each.address === address)) continue;
      heard.missed += 1;
      if (heard.missed >= MAX_MISSED) this.heard.delete(keyOf(heard));
      else this.askAgain();
    }
  }

  /** The routers and resolvers in an offer of another machine that lead past the gateway. */
  private past(offer: Offer, homeRouters: readonly Address[]): OtherRouter[] {
    const { addresses = [], uplink = null } = this.network ?? {};
    const { server, mac, interface: link } = offer;
    const routers = offer.routers.filter((router) => !addresses.includes(router));
    // With two cables, devices reach the home router through the gateway only.
    const resolvers = link === uplink ? offer.resolvers.filter((each) => homeRouters.includes(each)) : [];
    const isOwn = addresses.includes(server) || this.isOwn(mac);
    if (isOwn || routers.length + resolvers.length === 0) return [];
    return [{ interface: link, address: server, mac, routers, resolvers }];
  }

  private read(): void {
    const now = this.deps.host.monotonic();
    for (const [link, { routers, requests }] of this.sockets) {
      const received = routers.received();
      for (const { from, packet } of received ?? [])
        if (!this.isOwn(from)) this.takeAdvertisement(link, from, packet);
      for (const { packet } of requests.received() ?? []) this.takeRequest(link, packet);
      // The interface was removed; it may come back.
      if (received === null) this.close(link);
    }
    for (const [key, { endsAt }] of this.heard) if (endsAt <= now) this.heard.delete(key);
  }

  private takeAdvertisement(link: string, mac: string, packet: Uint8Array): void {
    const advertisement = routerAdvertisementIn(packet);
    if (advertisement === null) return;
    const { router: address, lifetime } = advertisement;
    const { addresses = [], uplink = null } = this.network ?? {};
    // With two cables, a resolver of the LAN has its own answers by way of the gateway.
    const all = link === uplink ? advertisement.resolvers : [];
    const resolvers = all.filter((each) => !addresses.includes(each));
    const routers = lifetime > 0 ? [address] : [];
    const lastsMs = resolvers.length > 0 ? SILENT_MS : Math.min(1_000 * lifetime, SILENT_MS);
    const heard = { interface: link, address, mac, routers, resolvers, missed: 0 };
    if (lastsMs === 0) this.heard.delete(keyOf(heard));
    else this.keep({ ...heard, endsAt: this.deps.host.monotonic() + lastsMs });
  }

  /** A device has taken an address from an unknown server, so that server is asked for its offer. */
  private takeRequest(link: string, packet: Uint8Array): void {
    const server = chosenServerIn(packet);
    const known = [...(this.network?.addresses ?? []), ...(this.answered.get(link) ?? [])];
    if (server !== null && !known.includes(server)) this.askAgain();
  }

  private keep(heard: Heard): void {
    const key = keyOf(heard);
    const count = this.current.filter((each) => each.interface === heard.interface).length;
    if (this.heard.has(key) || count < MAX_ON_LINK) this.heard.set(key, heard);
  }

  /** Whether it is an address of this machine: two of its links may be connected to each other. */
  private isOwn(mac: string): boolean {
    return [...this.sockets.values()].some(({ routers }) => routers.mac === mac);
  }

  private tell(): void {
    const now = this.deps.host.monotonic();
    const { current, told } = this;
    const keys = current.map(keyOf);
    const isNew = keys.some((key) => !told.includes(key));
    const isOver = keys.length === 0 && told.length > 0;
    if ((!isNew && !isOver) || now - this.toldAt < TOLD_EVERY_MS) return;
    this.told = keys;
    this.toldAt = now;
    if (isOver) this.deps.alarm("other_router_gone", {});
    else this.deps.alarm("other_router", { reason: sentencesOf(current) });
  }
}

/** The advertisements of some of them, for people, and the number of others. */
export function sentencesOf(routers: readonly OtherRouter[]): string {
  const more = routers.length - MAX_NAMED;
  const named = routers.slice(0, MAX_NAMED).map(sentenceOf);
  return `${named.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

/** The advertisement of one of them. */
export function sentenceOf({ interface: link, address, routers, resolvers }: OtherRouter): string {
  const [names, what] = routers.length > 0 ? [routers, "router"] : [resolvers, "resolver"];
  const listed = names.slice(0, MAX_NAMED).join(", ");
  if (familyOf(address) === 4)
    return `the DHCP server ${address} on ${link} gives devices the ${what} ${listed}`;
  if (routers.length > 0) return `${address} on ${link} advertises itself as an IPv6 router`;
  return `${address} on ${link} advertises the IPv6 ${what} ${listed}`;
}

function keyOf({ interface: link, address }: Pick<OtherRouter, "interface" | "address">): string {
  return `${link} ${address}`;
}

/** The routers of the machine's own default routes. */
async function homeRoutersOf(host: Pick<Host, "run">): Promise<Address[]> {
  const routes = await showRoutes(host, 4, "default").catch((): Route[] => []);
  return routes.flatMap(({ gateway = "" }) => parseAddress(gateway) ?? []);
}
