import type { Address } from "../base/address.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { Host, UdpSocket } from "../system/host.ts";
import { Epoch } from "./epoch.ts";
import { HomeRouter, LIFETIME_S, type RouterMapping } from "./home-router.ts";
import { ANNOUNCED, SERVER_PORT } from "./nat-pmp.ts";
import type { RouterRequest } from "./router-protocol.ts";
import type { RouterProtocolName } from "./router-protocols.ts";

/** The pause after a failure; each further one is twice as long. */
const FIRST_PAUSE_MS = 15_000;
const MAX_PAUSE_MS = 900_000;
/** Also if a router grants a second only, or says again and again that it has restarted. */
const SOONEST_MS = 30_000;
/** For the removal of a mapping that expires anyway. */
const UNMAP_WITHIN_MS = 5_000;

export type RouterPortState =
  | { name: "off" | "asking" }
  | { name: "open"; mapping: RouterMapping }
  | { name: "closed"; why: Reason };

interface Deps {
  host: Pick<Host, "openUdp" | "https" | "sleep" | "monotonic" | "random">;
  killSwitch: { update(owner: string, part: PolicyPart | null): Promise<void> };
  /** In the kill switch; never a tunnel's name. */
  owner: string;
  nonce: () => Uint8Array;
  onChange: () => void;
  /** The router has lost its mappings. */
  onLost: () => void;
}

interface Opened {
  request: RouterRequest;
  mapping: RouterMapping;
  expiresAt: number;
}

/** Keeps one port open at the home router. While none is wanted, nothing is sent, and nothing is permitted. */
export class RouterPort {
  private readonly router: HomeRouter;
  private wanted: RouterRequest | null = null;
  private opened: Opened | null = null;
  private failure: Reason | null = null;
  private failures = 0;
  private latest: RouterProtocolName | null = null;
  /** A time of the monotonic clock. */
  private dueAt = Number.POSITIVE_INFINITY;
  private askedAt = Number.NEGATIVE_INFINITY;
  private attempt = new AbortController();
  private isBusy = false;
  private epoch = new Epoch();
  private announcements: UdpSocket | null = null;
  private told = "";

  constructor(private readonly deps: Deps) {
    const { host, nonce } = deps;
    this.router = new HomeRouter({ host, nonce, permit: (router, contact) => this.permit(router, contact) });
  }

  get state(): RouterPortState {
    if (this.wanted === null) return { name: "off" };
    const { opened, failure } = this;
    if (opened !== null && opened.request === this.wanted && this.deps.host.monotonic() < opened.expiresAt)
      return { name: "open", mapping: opened.mapping };
    return failure === null ? { name: "asking" } : { name: "closed", why: failure };
  }

  /** What is asked for from now on, or nothing. What was asked for before is given back. */
  want(request: RouterRequest | null): void {
    if (Bun.deepEquals(request, this.wanted)) return;
    this.wanted = request;
    this.failure = null;
    this.failures = 0;
    this.dueAt = Number.NEGATIVE_INFINITY;
    this.attempt.abort();
    this.look();
  }

  /** Asks again if it is time, or if the router has lost its mappings. */
  look(): void {
    if (this.hasAnnounced()) {
      this.renewSoon();
      this.deps.onLost();
    }
    if (this.isBusy || this.deps.host.monotonic() < this.dueAt) return;
    this.isBusy = true;
    this.dueAt = Number.POSITIVE_INFINITY;
    void this.step()
      .catch((error: unknown) => this.failed(error))
      .finally(() => {
        this.isBusy = false;
        this.tell();
        if (this.dueAt === Number.NEGATIVE_INFINITY) this.look();
      });
  }

  /** To be called when the router may have lost the mapping. */
  renewSoon(): void {
    if (this.wanted === null || this.dueAt === Number.NEGATIVE_INFINITY) return;
    this.dueAt = Math.min(this.dueAt, this.askedAt + SOONEST_MS);
  }

  private async step(): Promise<void> {
    const { wanted, deps } = this;
    this.attempt = new AbortController();
    const { signal } = this.attempt;
    if (this.opened !== null && !Bun.deepEquals(this.opened.request, wanted))
      await this.giveBack(this.opened);
    if (wanted === null) {
      this.hearNothing();
      await deps.killSwitch.update(deps.owner, null);
      return;
    }
    await this.permit(wanted.router, {});
    this.askedAt = deps.host.monotonic();
    // A renewal names the port that the router has given, or it would give a further one.
    const external = this.opened?.mapping.external ?? wanted.external;
    const mapping = await this.router.map({ ...wanted, external }, this.latest, signal);
    // By then something else may be wanted; the next step gives this one back.
    this.opened = { request: wanted, mapping, expiresAt: this.askedAt + lifetimeMsOf(mapping) };
    this.latest = mapping.by;
    this.failure = null;
    this.failures = 0;
    await this.hear(wanted);
    if (this.wanted !== wanted) return;
    this.dueAt = this.askedAt + Math.max(lifetimeMsOf(mapping) / 2, SOONEST_MS);
    if (mapping.epoch !== null && this.epoch.take(mapping.epoch, this.askedAt)) deps.onLost();
  }

  /** A renewal changes nothing for anyone. */
  private tell(): void {
    const { state } = this;
    const { by, external, address } = state.name === "open" ? state.mapping : {};
    const text = JSON.stringify([state.name, by, external, address, "why" in state && state.why]);
    if (text !== this.told) this.deps.onChange();
    this.told = text;
  }

  private failed(error: unknown): void {
    if (this.dueAt === Number.NEGATIVE_INFINITY) return;
    this.failure = reasonOf(error);
    this.dueAt = this.deps.host.monotonic() + Math.min(FIRST_PAUSE_MS * 2 ** this.failures, MAX_PAUSE_MS);
    this.failures += 1;
  }

  private async giveBack({ request, mapping }: Opened): Promise<void> {
    this.opened = null;
    this.epoch = new Epoch();
    await this.permit(request.router, {});
    await this.router.unmap(request, mapping, AbortSignal.timeout(UNMAP_WITHIN_MS));
  }

  private permit(router: Address, part: PolicyPart): Promise<void> {
    return this.deps.killSwitch.update(this.deps.owner, { routers: [router], ...part });
  }

  /** Without them, a restart of the router is noticed when the mapping is renewed. */
  private async hear({ link, router }: RouterRequest): Promise<void> {
    if (this.announcements !== null || router.includes(":")) return;
    this.announcements = await this.deps.host.openUdp({ link, own: ANNOUNCED }).catch(() => null);
  }

  private hearNothing(): void {
    this.announcements?.close();
    this.announcements = null;
  }

  private hasAnnounced(): boolean {
    const heard = this.announcements?.received() ?? [];
    const router = this.wanted?.router;
    return (
      heard !== "refused" && heard.some(({ address, port }) => address === router && port === SERVER_PORT)
    );
  }
}

/** A router may grant more than was asked for. */
function lifetimeMsOf({ lifetime }: RouterMapping): number {
  return Math.min(lifetime, LIFETIME_S) * 1000;
}
