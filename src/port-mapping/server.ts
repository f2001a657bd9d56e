import { type Address, contains, isIpv4, parseAddress } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { PortRefusal, type Protocol } from "../forwards/opener.ts";
import type { GrantedPort, PortRequest } from "../forwards/request.ts";
import type { Forward } from "../forwards/schema.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Datagram, Host, UdpSocket } from "../system/host.ts";
import { Announcements } from "./announcements.ts";
import { Limits } from "./limits.ts";
import {
  ANNOUNCED,
  anotherOperationBytes,
  anotherVersionBytes,
  answerBytes,
  type MappingRequest,
  RESULT,
  type Request,
  requestIn,
  SERVER_PORT,
} from "./nat-pmp.ts";

/** Shorter than a client's first wait for an answer (RFC 6886, section 3.1). */
const POLL_MS = 100;
/** An interface may have been removed and made again since. */
const REOPEN_EACH_MS = 60_000;
/** A repetition that was on its way when the answer left has arrived by then. */
const LATE_MS = 200;
const OPEN_AGAIN_MS = 3_000;
const LOG_EACH_MS = 60_000;
/** The lifetime that section 3.3 recommends. */
const MAX_LIFETIME_S = 7_200;
/** The owner of the announcements in the kill switch; never a tunnel's name. */
const OWNER = "NAT-PMP";

/**
 * Opens the ports. Each method throws `PortRefusal` if a request is refused, and other errors for temporary failures.
 */
export interface Ports {
  map(request: PortRequest): Promise<GrantedPort>;
  /** Null means any. */
  unmap(which: { address: Address; protocol: Protocol; port: number | null }): Promise<void>;
  /** The public address of the tunnel that the device uses; null if nobody tells it. */
  publicAddress(device: Address): Promise<Address | null>;
}

interface Deps {
  host: Pick<Host, "openUdp" | "sleep" | "monotonic">;
  ports: Ports;
  killSwitch: Pick<KillSwitch, "update">;
  network: () => Pick<HostNetwork, "lans" | "addresses">;
  log: Pick<Log, "info" | "warn">;
}

/** One of the gateway's own addresses on the LAN. */
interface LanAddress {
  link: string;
  own: Address;
}

/** Opens ports for the devices of the LAN that ask by NAT-PMP (RFC 6886), each only for itself. */
export class NatPmpServer {
  private readonly sockets = new Map<string, LanAddress & { socket: UdpSocket }>();
  /** The network for which they were opened, and the time. */
  private opened: { network: unknown; at: number } = { network: null, at: 0 };
  private readonly limits = new Limits();
  private readonly announcements = new Announcements();
  /** The answers that devices got, by device, protocol and port. */
  private readonly told = new Map<string, Pick<Forward, "external" | "address">>();
  private startedAt = 0;
  private trouble: string | null = null;
  /** The last refusal that was logged, and its time. */
  private refusal = { text: "", at: Number.NEGATIVE_INFINITY };

  constructor(private readonly deps: Deps) {}

  /** Answers until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { host, killSwitch, log } = this.deps;
    await killSwitch
      .update(OWNER, { announces: true })
      .catch((error: unknown) => log.warn(`NAT-PMP: ${messageOf(error)}`));
    this.reset();
    while (!signal.aborted) {
      await this.open();
      for (const place of this.sockets.values()) this.receive(place);
      if (this.announcements.isDue(host.monotonic())) this.announce();
      await host.sleep(POLL_MS, signal);
    }
    this.close();
  }

  /** A port of a device has been opened, or has another number now, which the device must learn. */
  changed({ device, protocol, port, external, address, asked_by }: Forward): void {
    if (asked_by !== "device" || external === null) return;
    const key = `${device} ${protocol} ${port}`;
    const known = this.told.get(key);
    this.told.set(key, { external, address });
    if (known === undefined) return;
    if (known.external !== external || (known.address !== null && known.address !== address)) this.reset();
  }

  removed({ device, protocol, port }: Pick<Forward, "device" | "protocol" | "port">): void {
    this.told.delete(`${device} ${protocol} ${port}`);
  }

  /** Clients then ask for their ports again (section 3.7). */
  private reset(): void {
    this.startedAt = this.deps.host.monotonic();
    this.announcements.begin(this.startedAt);
  }

  private get epoch(): number {
    return Math.floor((this.deps.host.monotonic() - this.startedAt) / 1000);
  }

  private async open(): Promise<void> {
    const { host } = this.deps;
    const network = this.deps.network();
    const now = host.monotonic();
    if (this.opened.network === network && now - this.opened.at < REOPEN_EACH_MS) return;
    this.opened = { network, at: now };
    this.close();
    const results = await Promise.allSettled(
      placesIn(network).map(async ({ link, own }) => {
        const socket = await host.openUdp({ link, own: { address: own, port: SERVER_PORT } });
        this.sockets.set(keyOf({ link, own }), { link, own, socket });
      }),
    );
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) this.opened.at -= REOPEN_EACH_MS - OPEN_AGAIN_MS;
    this.failed(failure === undefined ? null : messageOf(failure.reason));
  }

  private close(): void {
    for (const { socket } of this.sockets.values()) socket.close();
    this.sockets.clear();
  }

  private receive({ socket, ...place }: LanAddress & { socket: UdpSocket }): void {
    const received = socket.received();
    if (received === "refused") return;
    for (const datagram of received)
      void this.take(place, datagram).catch((error: unknown) =>
        this.deps.log.warn(`NAT-PMP: ${messageOf(error)}`),
      );
  }

  private async take(place: LanAddress, { address, port, bytes }: Datagram): Promise<void> {
    const from = parseAddress(address);
    if (from === null || !this.isOnLan(place.link, from)) return;
    if (!this.limits.allows(from, this.deps.host.monotonic())) return;
    const request = requestIn(bytes);
    // The socket may have been opened again meanwhile.
    const reply = (answer: Uint8Array) =>
      this.sockets.get(keyOf(place))?.socket.send(answer, { address: from, port });
    switch (request?.asks) {
      case undefined:
        return;
      case "another version":
        return reply(anotherVersionBytes(this.epoch));
      case "another operation":
        return reply(anotherOperationBytes(bytes, this.epoch));
      case "address":
      case "mapping": {
        // Clients repeat themselves while the provider is asked, and take a second answer for that to their next
        // request.
        const done = this.limits.begin(from, `${port} ${JSON.stringify(request)}`);
        if (done === null) return;
        reply(
          await this.answerTo(request, from).finally(() => void this.deps.host.sleep(LATE_MS).then(done)),
        );
      }
    }
  }

  private async answerTo(request: Request, from: Address): Promise<Uint8Array> {
    if (request.asks === "address") return this.addressBytes(await this.publicAddress(from));
    const { result, external, lifetime } = await this.mapped(request, from);
    return answerBytes({ ...request, answers: "mapping", result, epoch: this.epoch, external, lifetime });
  }

  private async mapped({ protocol, internal, external, lifetime }: MappingRequest, address: Address) {
    const { ports } = this.deps;
    try {
      if (lifetime === 0) {
        await ports.unmap({ address, protocol, port: internal === 0 ? null : internal });
        return { result: RESULT.success, external: 0, lifetime: 0 };
      }
      if (internal === 0) return { result: RESULT.refused, external: 0, lifetime: 0 };
      const granted = await ports.map({
        address,
        protocol,
        port: internal,
        external: external === 0 ? null : external,
        lifetimeMs: 1000 * Math.min(lifetime, MAX_LIFETIME_S),
      });
      const seconds = Math.floor(granted.lifetimeMs / 1000);
      return { result: RESULT.success, external: granted.external, lifetime: seconds };
    } catch (error) {
      this.noteRefusal(`${address} gets no port for its ${protocol} ${internal}: ${messageOf(error)}`);
      return { result: resultOf(error), external: 0, lifetime: 0 };
    }
  }

  private async publicAddress(from: Address): Promise<Address | null> {
    const address = await this.deps.ports.publicAddress(from).catch(() => null);
    return address !== null && isIpv4(address) ? address : null;
  }

  private addressBytes(address: Address | null): Uint8Array {
    const result = address === null ? RESULT.network : RESULT.success;
    return answerBytes({ answers: "address", result, epoch: this.epoch, address });
  }

  /**
   * The address is that of the last port that was opened for a device, because only that one is known without asking.
   */
  private announce(): void {
    const address = parseAddress([...this.told.values()].at(-1)?.address ?? "");
    const bytes = this.addressBytes(address !== null && isIpv4(address) ? address : null);
    for (const { socket } of this.sockets.values()) socket.send(bytes, ANNOUNCED);
  }

  private isOnLan(link: string, address: Address): boolean {
    const { lans, addresses } = this.deps.network();
    if (addresses.includes(address)) return false;
    const own = lans.filter((lan) => lan.interface === link).flatMap(({ prefixes }) => prefixes);
    return own.some((prefix) => contains(prefix, address));
  }

  /** Devices ask again and again, and a hostile one for other ports each time. */
  private noteRefusal(text: string): void {
    const at = this.deps.host.monotonic();
    if (text === this.refusal.text || at - this.refusal.at < LOG_EACH_MS) return;
    this.refusal = { text, at };
    this.deps.log.info(text);
  }

  private failed(trouble: string | null): void {
    if (trouble !== null && trouble !== this.trouble)
      this.deps.log.warn(`devices cannot ask for ports everywhere: ${trouble}`);
    this.trouble = trouble;
  }
}

function placesIn({ lans, addresses }: Pick<HostNetwork, "lans" | "addresses">): LanAddress[] {
  return lans.flatMap(({ interface: link, prefixes }) =>
    addresses
      .filter((own) => isIpv4(own) && prefixes.some((prefix) => contains(prefix, own)))
      .map((own) => ({ link, own })),
  );
}

function keyOf({ link, own }: LanAddress): string {
  return `${link} ${own}`;
}

/** Section 3.5. A temporary failure is one of the network, and everything else is refused. */
function resultOf(error: unknown): number {
  if (error instanceof PortRefusal) return error.reason === "exhausted" ? RESULT.resources : RESULT.refused;
  return RESULT.network;
}
