import { type Address, addressOf, familyOf, isPrivate, isPublic, mustParseAddress } from "../base/address.ts";
import type { Bus } from "../base/bus.ts";
import type { GatewayError } from "../base/errors.ts";
import {
  type Contact,
  type Opener,
  type OpenPort,
  PortRefusal,
  type TunnelEnd,
  type WantedPort,
} from "../forwards/opener.ts";
import { exitMarkOf } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import type { Session } from "../tunnel/session.ts";
import { Epoch } from "./epoch.ts";
import { exchange, type Server } from "./exchange.ts";
import {
  type MappingAnswer,
  type MappingRequest,
  type Outcome,
  questionOf,
  RESULT,
  SERVER_PORT,
} from "./nat-pmp.ts";
import { refused } from "./refusals.ts";

/** Providers want a short lifetime: a port that is no longer used is free after a minute. */
const LIFETIME_S = 60;
/** The part of the lifetime after which a port is renewed: 45 s. */
const RENEW_AFTER = 3 / 4;
/** The shortest pause, for a server that grants a second or two. */
const SOONEST_MS = 5_000;
/** The waits for an answer add up to 7.75 s. */
const ATTEMPTS = 5;
/** For requests that are not essential: the address, and the removal of a port that expires anyway. */
const FEW_ATTEMPTS = 2;
/** The address of a server that did not tell it. */
const ASK_AGAIN_MS = 30_000;

export interface PortEvents {
  /** The server behind a way has lost its ports, so all that are open there must be renewed. */
  ports_lost: TunnelEnd;
}

interface Known {
  epoch: Epoch;
  address: Address | null;
  askAgainAt: number;
  /** By then all ports are renewed anyway. */
  lostUntil: number;
}

/** Opens ports at providers that speak NAT-PMP (RFC 6886) inside the tunnel, such as Proton. */
export class NatPmpOpener implements Opener {
  readonly kind = "nat-pmp";
  /** The known facts about the server behind each session. */
  private readonly known = new WeakMap<Session, Known>();

  constructor(
    private readonly deps: {
      host: Pick<Host, "openUdp" | "sleep" | "monotonic">;
      events: Pick<Bus<PortEvents>, "publish">;
    },
  ) {}

  contact({ session }: TunnelEnd): Contact | null {
    const address = gatewayOf(session);
    return address === null ? null : { protocol: "udp", address, port: SERVER_PORT };
  }

  async open(way: TunnelEnd, wanted: WantedPort, signal: AbortSignal): Promise<OpenPort> {
    const { protocol, inside: internal, external } = wanted;
    const request = { asks: "mapping", protocol, internal, external: external ?? 0 } as const;
    const answer = await this.mapping(way, { ...request, lifetime: LIFETIME_S }, signal);
    if (answer.external === 0 || answer.lifetime === 0)
      throw refused("nat_pmp_untrue", { address: serverOf(way).address });
    const lifetimeMs = Math.min(answer.lifetime, LIFETIME_S) * 1000;
    return {
      protocol,
      external: answer.external,
      inside: internal,
      address: await this.publicAddress(way, signal),
      renewAfterMs: Math.max(lifetimeMs * RENEW_AFTER, SOONEST_MS),
      expiresAfterMs: lifetimeMs,
    };
  }

  renew(way: TunnelEnd, port: OpenPort, signal: AbortSignal): Promise<OpenPort> {
    return this.open(way, port, signal);
  }

  async close(way: TunnelEnd, { protocol, inside: internal }: OpenPort, signal: AbortSignal): Promise<void> {
    const request = { asks: "mapping", protocol, internal, external: 0, lifetime: 0 } as const;
    await exchange(questionOf(request), {
      ...this.deps,
      server: serverOf(way),
      attempts: FEW_ATTEMPTS,
      signal,
    });
  }

  private async mapping(
    way: TunnelEnd,
    request: MappingRequest,
    signal: AbortSignal,
  ): Promise<MappingAnswer> {
    const server = serverOf(way);
    const outcome = await exchange(questionOf(request), { ...this.deps, server, attempts: ATTEMPTS, signal });
    if (typeof outcome === "string" || outcome.answers !== "mapping") throw refusalOf(outcome, server);
    this.take(way, outcome.epoch);
    if (outcome.result !== RESULT.success) throw refusalOf(outcome, server);
    return outcome;
  }

  /** Null if the server does not tell it, or tells one that cannot be reached. */
  async publicAddress(way: TunnelEnd, signal: AbortSignal): Promise<Address | null> {
    const known = this.knownOf(way);
    const now = this.deps.host.monotonic();
    if (known.address !== null || now < known.askAgainAt) return known.address;
    known.askAgainAt = now + ASK_AGAIN_MS;
    const server = serverOf(way);
    const question = questionOf({ asks: "address" });
    const outcome = await exchange(question, { ...this.deps, server, attempts: FEW_ATTEMPTS, signal });
    if (typeof outcome === "string" || outcome.answers !== "address") return null;
    this.take(way, outcome.epoch);
    known.address = outcome.address !== null && isPublic(outcome.address) ? outcome.address : null;
    return known.address;
  }

  private take(way: TunnelEnd, epoch: number): void {
    const known = this.knownOf(way);
    const now = this.deps.host.monotonic();
    if (!known.epoch.take(epoch, now)) return;
    // Otherwise a server whose clock goes backward with each answer would be asked without end.
    if (now < known.lostUntil) return;
    // After a restart, the address may be another one too.
    Object.assign(known, { address: null, askAgainAt: 0, lostUntil: now + LIFETIME_S * 1000 });
    this.deps.events.publish({ type: "ports_lost", payload: way });
  }

  private knownOf({ session }: TunnelEnd) {
    const known = this.known.get(session) ?? {
      ...{ epoch: new Epoch(), address: null, askAgainAt: 0 },
      lostUntil: Number.NEGATIVE_INFINITY,
    };
    this.known.set(session, known);
    return known;
  }
}

function serverOf({ session }: TunnelEnd): Server {
  const address = gatewayOf(session);
  if (address === null) throw new PortRefusal("unsupported", refused("nat_pmp_without_ipv4"));
  return { address, link: session.link, mark: exitMarkOf(session.mark) };
}

/** WireGuard names no gateway. Providers have it at the resolver inside the tunnel, or at the first address. */
function gatewayOf({ server }: Session): Address | null {
  const { addresses, dns } = server.config.interface;
  const resolver = dns.find((address) => familyOf(address) === 4 && isPrivate(address));
  if (resolver !== undefined) return resolver;
  const own = addresses.find((prefix) => familyOf(prefix) === 4);
  if (own === undefined) return null;
  const first = mustParseAddress(addressOf(own).replace(/[0-9]+$/, "1"));
  return first === addressOf(own) ? null : first;
}

function refusalOf(outcome: Outcome, { address }: Server): GatewayError {
  if (outcome === "silent") return refused("nat_pmp_silent", { address });
  if (outcome === "closed") return new PortRefusal("unsupported", refused("nat_pmp_closed", { address }));
  switch (outcome.result) {
    case RESULT.refused:
      return new PortRefusal("refused", refused("nat_pmp_refused", { address }));
    case RESULT.network:
      return refused("nat_pmp_down", { address });
    case RESULT.resources:
      return new PortRefusal("exhausted", refused("nat_pmp_exhausted", { address }));
    default:
      return new PortRefusal("refused", refused("nat_pmp_failed", { address, result: outcome.result }));
  }
}
