import { type Address, familyOf } from "../base/address.ts";
import { Decision, effectBy, without } from "../base/decision.ts";
import { messageOf } from "../base/errors.ts";
import type { Mac } from "../base/mac.ts";
import type { Texts } from "../base/saved.ts";
import { type ActiveForward, type GivenId, idIn } from "./active-forward.ts";
import { HeldForwards, type HeldForwardsDeps } from "./active-forwards.ts";
import { DeviceRequests } from "./device-requests.ts";
import type { TunnelEnd } from "./opener.ts";
import { refused } from "./refusals.ts";
import type { GrantedPort, PortRelease, PortRequest } from "./request.ts";
import { DNS_PORT, FORWARDS, keyOf, type SavedForward } from "./saved.ts";
import type { Forward, ForwardChange } from "./schema.ts";

interface Deps extends HeldForwardsDeps {
  store: Texts & { atomically(work: () => void): void };
}

/** A person waits this long for an answer; the work continues. */
const RESULT_WITHIN_MS = 10_000;
const LOST_WITHIN_MS = 5_000;

/** The ports of the internet that lead to devices: what people and devices ask for, and what providers open. */
export class Forwards {
  private readonly held: HeldForwards;
  private readonly requests: DeviceRequests;
  private isLoaded = false;
  /** The forwards that people have asked for. */
  private readonly decision: Decision<readonly SavedForward[]>;

  constructor(private readonly deps: Deps) {
    const { store, devices, tunnels } = deps;
    this.held = new HeldForwards(deps);
    this.decision = new Decision({
      store,
      read: () => FORWARDS.read(store),
      write: (_, forwards) => FORWARDS.write(store, forwards),
      parts: [{ of: portsIn, apply: (forwards) => this.hold(forwards), effect: effectBy(portsIn) }],
    });
    this.requests = new DeviceRequests(deps, this.held);
    const look = () => this.look();
    tunnels.onTunnel(({ controller }) => controller.onChange(look));
    tunnels.onRemoved(look);
    devices.onChange(look);
    devices.keep((mac) => this.held.isNeeded(mac));
  }

  /** Opens the ports that people have asked for. To be called after a restore, too. */
  async reload(): Promise<void> {
    this.isLoaded = true;
    await this.decision.reload();
  }

  /** Opens them, and saves what could not be saved, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await Promise.all([this.reload(), this.decision.keepSaved(this.deps.host, signal)]);
  }

  /** Ordered by device, protocol and port. */
  async list(): Promise<Forward[]> {
    const all = this.held.all.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    return this.held.rows.of(all);
  }

  /** Opens a port for a person, or changes its external port; resolves with what came of it. */
  async put(given: GivenId, { external = null }: ForwardChange): Promise<Forward> {
    const id = idIn(given);
    const present = this.held.of(id);
    if (id.port === DNS_PORT) throw refused("dns_port");
    const saved = { ...id, fixed: external, address: this.addressOf(id) ?? present?.address ?? null };
    await this.decision.change((forwards) => {
      const others = forwards.filter((each) => keyOf(each) !== keyOf(id));
      // Devices must not use up the forwards that people may have.
      if (others.length < FORWARDS.max) return [...others, saved];
      throw refused("limit_reached", { field: "port", of: "forwards", max: FORWARDS.max });
    });
    // A repeated request of a person is tried again.
    const held = isHeld(present, saved) ? await this.held.take(saved, null) : this.held.of(id);
    await Promise.race([held?.keeper.tried, this.deps.host.sleep(RESULT_WITHIN_MS)]);
    const [row] = held === undefined ? [] : await this.held.rows.of([held]);
    if (row === undefined) throw refused("forward_removed");
    return row;
  }

  /** Closes it even if that cannot be saved. Then it throws `Unsaved`. */
  async remove(given: GivenId): Promise<void> {
    const key = keyOf(idIn(given));
    const held = this.held.of(idIn(given));
    if (held?.until != null) {
      await this.held.end(held);
      // That of a person may not be saved as removed yet.
      if (!this.decision.saved.some((each) => keyOf(each) === key)) return;
    }
    await this.decision.remove(
      (forwards) => without(forwards, (each) => keyOf(each) === key),
      refused("forward_unknown"),
    );
  }

  /** This and the next two are for devices that ask by themselves: see `DeviceRequests`. */
  map(request: PortRequest): Promise<GrantedPort> {
    return this.requests.map(request);
  }

  unmap(which: PortRelease): Promise<void> {
    return this.requests.unmap(which);
  }

  publicAddress(address: Address): Promise<Address | null> {
    return this.requests.publicAddress(address);
  }

  /** The server of a tunnel has lost its ports. They are requested again, after the random wait of RFC 6886, 3.7. */
  async renewAll({ session }: TunnelEnd): Promise<void> {
    await this.deps.host.sleep(this.deps.host.random() * LOST_WITHIN_MS);
    for (const { keeper } of this.held.all) if (keeper.opened?.way.session === session) keeper.renewNow();
  }

  /** The external ports that are open at the server of a tunnel, each once. */
  portsOf(tunnel: string): number[] {
    return [...new Set(this.held.openOn(tunnel).map(({ port }) => port.external))];
  }

  /** Whether the server of a tunnel sends what comes at this UDP port to a device. */
  isForwarded(tunnel: string, inside: number): boolean {
    return this.held.isForwarded(tunnel, inside);
  }

  /** How many ports are open, by tunnel. */
  counts(): Record<string, number> {
    return Object.fromEntries(
      this.deps.tunnels.all().map(({ name }) => [name, this.held.openOn(name).length]),
    );
  }

  /** A tunnel or a device has changed. */
  private look(): void {
    if (!this.isLoaded) return;
    for (const { keeper } of this.held.all) keeper.wake();
    void this.saveAddresses().catch((error: unknown) =>
      this.deps.log.warn(`the addresses of forwards could not be saved: ${messageOf(error)}`),
    );
    void this.held.permits
      .apply()
      .catch((error: unknown) => this.deps.log.warn(`forwards: ${messageOf(error)}`));
    void this.held.rows.tell(this.held.all);
  }

  /** Opens the ports of people's forwards, and closes those of removed ones. */
  private async hold(forwards: readonly SavedForward[]): Promise<void> {
    const keys = new Set(forwards.map(keyOf));
    const gone = this.held.all.filter((held) => held.until === null && !keys.has(keyOf(held)));
    await Promise.all(gone.map((held) => this.held.end(held)));
    for (const each of forwards) if (!isHeld(this.held.of(each), each)) await this.held.take(each, null);
  }

  /** After a restart, a device that only listens is looked for at its last address. */
  private async saveAddresses(): Promise<void> {
    const moved = this.held.all.filter((held) => {
      const before = held.address;
      held.address = this.addressOf(held) ?? before;
      return held.until === null && held.address !== before;
    });
    if (moved.length === 0) return this.decision.retry();
    await this.decision.change((forwards) =>
      forwards.map((each) => ({ ...each, address: this.held.of(each)?.address ?? each.address })),
    );
  }

  private addressOf(forward: { device: Mac }): Address | null {
    return this.held.addressesOf(forward).find((each) => familyOf(each) === 4) ?? null;
  }
}

/** Whether a person's forward leads to the port already. */
function isHeld(held: ActiveForward | undefined, { fixed }: SavedForward): boolean {
  return held?.until === null && held.fixed === fixed;
}

/** All but the addresses, which are where devices are looked for. */
function portsIn(forwards: readonly SavedForward[]): string[] {
  return forwards.map((each) => `${keyOf(each)} ${each.fixed}`);
}
