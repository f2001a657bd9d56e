import type { Address } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import type { Session } from "../tunnel/session.ts";

export type Protocol = "tcp" | "udp";
export const PROTOCOLS: readonly Protocol[] = ["tcp", "udp"];

/** How a provider opens ports; of `fixed` ones, a person has set the port on the provider's site. */
export const OPENER_KINDS = ["nat-pmp", "pia", "fixed"] as const;
export type OpenerKind = (typeof OPENER_KINDS)[number];
/** Those that ask a provider. */
export type ProviderOpener = Exclude<OpenerKind, "fixed">;

/** The end of a tunnel at which a provider opens ports. */
export interface TunnelEnd {
  /** The tunnel's name. */
  tunnel: string;
  /** Its current session: interface, mark, server. A new session is another way. */
  session: Session;
}

export interface WantedPort {
  protocol: Protocol;
  /** Distinguishes the ports that are open on a way: no two of the same protocol have the same number. */
  inside: number;
  /** The port that was open before, or that the device would like; null for any. The provider may give another. */
  external: number | null;
}

/** A port that the provider forwards to the tunnel's address. */
export interface OpenPort {
  protocol: Protocol;
  /** The number on the provider's public address. */
  external: number;
  /** The port of the tunnel's address to which the provider sends what arrives there: NAT-PMP's internal port, or the same. */
  inside: number;
  /** The provider's public address; null if it does not say. */
  address: Address | null;
  renewAfterMs: number;
  /** Without a renewal the provider closes it at this time. */
  expiresAfterMs: number;
}

/** What the opener sends to, inside the tunnel; the firewall permits it while the opener is used. */
export interface Contact {
  protocol: Protocol;
  address: Address;
  port: number;
}

/**
 * One way to have ports opened by a provider. The methods of one way are called one at a time, and with a signal that
 * aborts when the answer is no longer wanted or is late. Each throws `PortRefusal` for a refusal of the provider, with
 * a message that says what to do next, and any other `GatewayError` for a temporary failure, which is tried again.
 */
export interface Opener {
  readonly kind: OpenerKind;
  /** Null if the opener sends nothing. */
  contact(way: TunnelEnd): Contact | null;
  open(way: TunnelEnd, wanted: WantedPort, signal: AbortSignal): Promise<OpenPort>;
  /** Resolves with the same numbers, or with others if the provider gives another port now. */
  renew(way: TunnelEnd, port: OpenPort, signal: AbortSignal): Promise<OpenPort>;
  /** The provider's public address, if it can be asked without a port; null if it does not say. */
  publicAddress?(way: TunnelEnd, signal: AbortSignal): Promise<Address | null>;
  /** Called for a port that is no longer wanted while its session is up. */
  close(way: TunnelEnd, port: OpenPort, signal: AbortSignal): Promise<void>;
}

/** `unsupported`: the provider or the server has no forwarded ports; `refused`: not for this key or account. */
export type RefusalReason = "unsupported" | "refused" | "exhausted";

/** The provider does not open a port, and asking again soon would not help. */
export class PortRefusal extends GatewayError {
  constructor(
    readonly reason: RefusalReason,
    { message, args }: Pick<GatewayError, "message" | "args">,
  ) {
    super("unable", message, { args });
  }
}
