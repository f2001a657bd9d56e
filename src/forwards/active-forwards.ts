import type { Address } from "../base/address.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Mac } from "../base/mac.ts";
import { Queue } from "../base/queue.ts";
import type { Devices } from "../devices/devices.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { Lan } from "../network/lan.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import type { ActiveForward, Expiry } from "./active-forward.ts";
import { Addresses } from "./addresses.ts";
import type { Opener, TunnelEnd } from "./opener.ts";
import { Permits } from "./permits.ts";
import { placeOf } from "./place.ts";
import { type ForwardPath, type Opened, PortLease } from "./port-lease.ts";
import type { ReservedPort } from "./reserved-port.ts";
import { Rows } from "./rows.ts";
import { type ForwardId, keyOf, type SavedForward } from "./saved.ts";
import type { Forward } from "./schema.ts";
import { refuseTaken, wantedBy } from "./taken.ts";

export interface ForwardEvents {
  forward_update: Forward;
  forward_removed: ForwardId;
}

export interface HeldForwardsDeps {
  host: Pick<Host, "run" | "sleep" | "now" | "monotonic" | "random">;
  killSwitch: { update(owner: string, part: PolicyPart): Promise<void>; readonly lans: readonly Lan[] };
  devices: Pick<Devices, "exitOf" | "roster" | "chosenAddressOf" | "rowsOf" | "keep" | "onChange">;
  tunnels: Pick<Tunnels, "all" | "onTunnel" | "onRemoved">;
  /** How a port is opened at a server. Throws `PortRefusal` if its provider opens none. */
  openerFor: (server: Server, fixed: number | null) => Opener;
  /** What the gateway itself uses. */
  reserved: Pick<ReservedPort, "has">;
  events: Pick<Bus<ForwardEvents>, "publish">;
  log: Pick<Log, "info" | "warn">;
}

/** How long a port may stay open after a device's request has ended. */
const LOOK_EACH_MS = 5_000;
/** How often the LAN is asked for a device that only listens, until it is seen. */
const ASK_EACH_MS = 30_000;

/** The forwards that people and devices want now, each with the lease that keeps it open. */
export class HeldForwards {
  readonly rows: Rows;
  readonly permits: Permits;
  private readonly held = new Map<string, ActiveForward>();
  private readonly queues = new Map<string, Queue>();
  /** The devices of people's forwards. A device's own requests do not keep it in the list. */
  private needed: ReadonlySet<Mac> = new Set();
  private readonly addresses: Addresses;

  constructor(private readonly deps: HeldForwardsDeps) {
    const { devices, host, killSwitch } = deps;
    this.addresses = new Addresses({
      host,
      seen: (device) => devices.roster.addressesOf(device),
      isOthers: (device, address) => ![null, device].includes(devices.roster.ownerOf(address) as Mac | null),
      lans: () => killSwitch.lans,
    });
    this.rows = new Rows({ ...deps, isHeld: (held) => this.has(held) });
    this.permits = new Permits({
      killSwitch,
      held: () => this.all,
      addressesOf: (held) => this.addressesOf(held),
    });
  }

  get all(): ActiveForward[] {
    return [...this.held.values()];
  }

  of(id: ForwardId): ActiveForward | undefined {
    return this.held.get(keyOf(id));
  }

  /** The ports that are open at the server of a tunnel. */
  openOn(tunnel: string): Opened[] {
    return this.all.flatMap(({ keeper }) =>
      keeper.isOpen && keeper.opened?.way.tunnel === tunnel ? [keeper.opened] : [],
    );
  }

  /** Whether the server of a tunnel sends what comes at this UDP port to a device. */
  isForwarded(tunnel: string, inside: number): boolean {
    return this.openOn(tunnel).some(({ port }) => port.protocol === "udp" && port.inside === inside);
  }

  addressesOf({ device }: Pick<ActiveForward, "device">): readonly Address[] {
    return this.addresses.of(device);
  }

  /** Whether a person has forwarded a port to the device. */
  isNeeded(device: Mac): boolean {
    return this.needed.has(device);
  }

  /** Holds a forward; `asked` is null for a person's. */
  async take(
    saved: SavedForward,
    asked: { until: Expiry; preferred: number | null } | null,
  ): Promise<ActiveForward> {
    const present = this.of(saved);
    // If a person asks again, it is tried again.
    if (present !== undefined && present.fixed === saved.fixed && !present.keeper.isIdle) {
      present.until = asked?.until ?? null;
      this.noteNeeded();
      return present;
    }
    if (present !== undefined) await this.end(present, true);
    const held: ActiveForward = {
      ...saved,
      until: asked?.until ?? null,
      preferred: asked?.preferred ?? present?.preferred ?? null,
      told: null,
      keeper: this.keeperFor(() => held),
    };
    this.held.set(keyOf(saved), held);
    this.noteNeeded();
    void held.keeper.keep().catch((error: unknown) => this.warn(held, error));
    void this.keepUntilOver(held);
    void this.lookFor(held);
    return held;
  }

  /** `isReplaced` if another one of the same device, protocol and port follows at once. */
  async end(held: ActiveForward, isReplaced = false): Promise<void> {
    if (!this.has(held)) return;
    this.held.delete(keyOf(held));
    this.noteNeeded();
    await held.keeper.stop().catch((error: unknown) => this.warn(held, error));
    const { device, protocol, port } = held;
    if (!this.all.some((other) => other.device === device)) this.addresses.forget(device);
    if (!isReplaced)
      this.deps.events.publish({ type: "forward_removed", payload: { device, protocol, port } });
  }

  /** Does work on a way after earlier work there. */
  inTurn<T>({ tunnel }: TunnelEnd, work: () => Promise<T>): Promise<T> {
    const queue = this.queues.get(tunnel) ?? new Queue();
    this.queues.set(tunnel, queue);
    return queue.add(work);
  }

  private keeperFor(held: () => ActiveForward): PortLease {
    return new PortLease({
      host: this.deps.host,
      place: () => this.placeOf(held()),
      openerFor: ({ session }) => this.deps.openerFor(session.server, held().fixed),
      wanted: (way) => wantedBy(held(), way, this.all, this.deps.reserved),
      check: (way, port) => refuseTaken(held(), way, port, this.all, this.deps.reserved),
      inTurn: (way, work) => this.inTurn(way, work),
      changed: () => this.changed(held()),
    });
  }

  private placeOf(held: ActiveForward): ForwardPath {
    const { devices, tunnels } = this.deps;
    const isKnown = this.addressesOf(held).length > 0;
    return placeOf({ device: held.device, exit: devices.exitOf(held.device), isKnown }, tunnels.all());
  }

  private async changed(held: ActiveForward): Promise<void> {
    held.preferred = held.keeper.opened?.port.external ?? held.preferred;
    await this.permits.apply().finally(() => void this.rows.tell([held]));
  }

  /** A port ends if the device does not ask for it again. */
  private async keepUntilOver(held: ActiveForward): Promise<void> {
    const { host } = this.deps;
    while (held.until !== null && this.has(held)) {
      const leftMs = held.until.at - host.monotonic();
      if (leftMs <= 0) return this.end(held);
      // The next request may be for a shorter time.
      await host.sleep(Math.min(leftMs, LOOK_EACH_MS));
    }
  }

  /** A device that only listens is seen when it is looked for, at its last address or the one that a person chose. */
  private async lookFor(held: ActiveForward): Promise<void> {
    const { devices, host } = this.deps;
    while (this.has(held)) {
      const address = held.address ?? devices.chosenAddressOf(held.device);
      if (address !== null && this.addressesOf(held).length === 0)
        // It may be requested again.
        await this.addresses.ask(address).catch(() => {});
      await host.sleep(ASK_EACH_MS);
    }
  }

  private has(held: ActiveForward): boolean {
    return this.of(held) === held;
  }

  private noteNeeded(): void {
    const ofPeople = this.all.filter(({ until }) => until === null);
    this.needed = new Set(ofPeople.map(({ device }) => device));
  }

  private warn(held: ActiveForward, error: unknown): void {
    this.deps.log.warn(`forward ${keyOf(held)}: ${messageOf(error)}`);
  }
}
