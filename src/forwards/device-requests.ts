import type { Address } from "../base/address.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import type { Session } from "../tunnel/session.ts";
import type { HeldForwards, HeldForwardsDeps } from "./active-forwards.ts";
import { type Opener, PortRefusal, type TunnelEnd } from "./opener.ts";
import { placeOf } from "./place.ts";
import { refused } from "./refusals.ts";
import type { GrantedPort, PortRelease, PortRequest } from "./request.ts";
import { DNS_PORT, FORWARDS } from "./saved.ts";

type Deps = Pick<HeldForwardsDeps, "host" | "devices" | "tunnels" | "openerFor">;

/** Any program on a device can ask. */
const MAX_OF_DEVICE = 8;
/** A device waits this long for an answer; the work continues. */
const RESULT_WITHIN_MS = 10_000;
/** RFC 6886, 3.3, recommends 2 h. */
const MAX_LIFETIME_MS = 86_400_000;
/** Any device may ask as often as it likes, and each question to a provider changes the firewall twice. */
const ADDRESS_KEPT_MS = 10_000;

/** The ports that devices ask for by themselves. */
export class DeviceRequests {
  /** The public addresses that were given to devices last. */
  private readonly answered = new WeakMap<Session, { at: number; answer: Promise<Address | null> }>();

  constructor(
    private readonly deps: Deps,
    private readonly forwards: HeldForwards,
  ) {}

  /** Opens a port for a device that asks by itself, or keeps it open for longer. */
  async map({ address, protocol, port, external, lifetimeMs }: PortRequest): Promise<GrantedPort> {
    const device = this.deviceAt(address);
    const id = { device, protocol, port };
    const granted = Math.min(lifetimeMs, MAX_LIFETIME_MS);
    const { host } = this.deps;
    const until = { at: host.monotonic() + granted, date: new Date(host.now() + granted).toISOString() };
    const present = this.forwards.of(id);
    if (present === undefined) this.refuseMore(device);
    if (port === DNS_PORT) throw new PortRefusal("refused", refused("dns_port_of_device"));
    const held =
      present ?? (await this.forwards.take({ ...id, fixed: null, address }, { until, preferred: external }));
    if (held.until !== null) held.until = until;
    await Promise.race([held.keeper.tried, host.sleep(RESULT_WITHIN_MS)]);
    const { opened } = held.keeper;
    if (held.keeper.isOpen && opened !== null)
      return { external: opened.port.external, lifetimeMs: granted, address: opened.port.address };
    const failure = held.keeper.failure ?? refused("provider_silent");
    if (held.until !== null && present === undefined) await this.forwards.end(held);
    throw failure;
  }

  /** Closes the ports that the device has asked for itself. A person's forward stays. */
  async unmap({ address, protocol, port }: PortRelease): Promise<void> {
    const device = this.deviceAt(address);
    const all = this.forwards.all.filter(
      (held) =>
        held.device === device &&
        (protocol ?? held.protocol) === held.protocol &&
        (port ?? held.port) === held.port,
    );
    await Promise.all(all.filter(({ until }) => until !== null).map((held) => this.forwards.end(held)));
    if (all.some(({ until }) => until === null))
      throw new PortRefusal("refused", refused("forwarded_by_person"));
  }

  /** The provider's public address at the tunnel of a device; null if the provider does not say. */
  async publicAddress(address: Address): Promise<Address | null> {
    const device = this.deviceAt(address);
    const exit = this.deps.devices.exitOf(device);
    const { way, why } = placeOf({ device, exit, isKnown: true }, this.deps.tunnels.all());
    if (way === null || why !== null) return null;
    const known = this.forwards.openOn(exit).find(({ port }) => port.address !== null)?.port.address;
    if (known != null) return known;
    const opener = this.deps.openerFor(way.session.server, null);
    if (opener.publicAddress === undefined) return null;
    const now = this.deps.host.monotonic();
    const last = this.answered.get(way.session);
    if (last !== undefined && now - last.at < ADDRESS_KEPT_MS) return last.answer;
    const answer = this.askedAddress(way, opener);
    this.answered.set(way.session, { at: now, answer });
    return answer;
  }

  private askedAddress(way: TunnelEnd, opener: Opener): Promise<Address | null> {
    const { signal } = new AbortController();
    const ask = async () => (await opener.publicAddress?.(way, signal)) ?? null;
    return this.forwards.permits.whileAsking({ way, opener }, () => this.forwards.inTurn(way, ask));
  }

  private deviceAt(address: Address): Mac {
    const mac = parseMac(this.deps.devices.roster.holderOf(address) ?? "");
    if (mac !== null) return mac;
    throw new PortRefusal("refused", refused("device_not_on_lan"));
  }

  private refuseMore(device: Mac): void {
    const { all } = this.forwards;
    const asked = all.filter((held) => held.until !== null && held.device === device);
    if (asked.length >= MAX_OF_DEVICE || all.length >= FORWARDS.max)
      throw new PortRefusal("exhausted", refused("forwards_full"));
  }
}
