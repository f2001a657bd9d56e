import { type Address, type Prefix, parseAddress, unmapped } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import { nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Mac } from "../base/mac.ts";
import type { Texts } from "../base/saved.ts";
import type { Exit, PolicyPart } from "../killswitch/policy.ts";
import type { Lan } from "../network/lan.ts";
import type { Neighbour } from "../network/neighbours.ts";
import { isUsedUp } from "../shared/quotas.ts";
import { type DeviceFacts, deviceFactsOf } from "../shared/verdict.ts";
import type { Host } from "../system/host.ts";
import { timeZone } from "../system/time-zone.ts";
import { Assignments, type Beside, defaultExitOf } from "./assignments.ts";
import { type AllByTime, allByTime } from "./by-time.ts";
import { Choices } from "./choices.ts";
import { type Direct, directChanges, directIn, withDirect } from "./direct.ts";
import { type Exits, formatExit, namesOf } from "./exit.ts";
import type { ExitOrder } from "./exit-order.ts";
import { ExitsInForce } from "./exits-in-force.ts";
import { type DhcpHosts, FixedAddresses } from "./fixed.ts";
import { type DeviceId, deviceIdIn, EVERYBODY_ELSE, isDeviceId, type LimitId } from "./id.ts";
import { type LimitFigures, Limits } from "./limits.ts";
import { LanNetworks } from "./networks.ts";
import { quotaIn } from "./quota.ts";
import { Quotas, usedQuotaIn } from "./quotas.ts";
import { rateIn } from "./rate.ts";
import {
  areNewOpen,
  type Decisions,
  type DeviceRecord,
  type DeviceStorage,
  FIELD_KEYS,
  linksIn,
  networkOrderIn,
  withRecord,
} from "./record.ts";
import { refused } from "./refusals.ts";
import { NOBODY, type RemotePresence } from "./remote-presence.ts";
import { Roster } from "./roster.ts";
import { Rows } from "./rows.ts";
import type { Device, DeviceChange, DeviceList } from "./schema.ts";
import { movesOf, usedUp } from "./sentences.ts";
import { type Figures, Traffic } from "./traffic.ts";
import type { DevicesEvents } from "./updates.ts";
import { countsOf, haveSent } from "./use.ts";
import type { GivenQuota, Rate } from "./values.ts";

interface Deps {
  host: Pick<Host, "run" | "read" | "hostName" | "macAt" | "sleep" | "now" | "monotonic">;
  store: DeviceStorage;
  killSwitch: {
    update(owner: string, part: PolicyPart): Promise<void>;
    /** The place of a network behind another router: interfaces that lead to it, and other owners of its addresses. */
    wayTo(prefix: Prefix): { interfaces: readonly string[]; overlap: string | null };
  };
  /** The names of all tunnels, `main` first. */
  tunnelNames: () => readonly string[];
  /** Null if the gateway does not serve DHCP. */
  dhcp: DhcpHosts | null;
  remote?: RemotePresence;
  /** The time zone in which the days of quotas begin. */
  zone?: () => string;
  /** Called with the bytes that a device has carried between two readings. */
  onCarried?: (id: DeviceId, carried: Figures) => void;
  /** Forgets what it has carried in the past. Returns whether anything was known about it. */
  forgetHistory?: (id: DeviceId) => boolean;
  events: Pick<Bus<DevicesEvents>, "publish">;
  /** The LAN interfaces of former starts, as far as they are known. */
  lanBefore?: readonly string[];
  /** The meshes that root has named. */
  meshes?: readonly string[];
  alarm: Alarm;
  log: Pick<Log, "warn">;
}

/** How soon listeners are told of a device that has become silent. */
const SILENCE_EVERY_MS = 15_000;

/** The devices of the LAN, and what people have given them. */
export class Devices {
  /** Who is there. */
  readonly roster: Roster;
  /** Which exit of several is in force. */
  readonly inForce: ExitsInForce;
  readonly networks: LanNetworks;
  private readonly assignments: Assignments;
  private readonly fixed: FixedAddresses;
  private readonly limits: Limits;
  private readonly quotas: Quotas;
  readonly choices: Choices;
  private readonly traffic: Traffic<DeviceId>;
  private readonly rows: Rows;
  private readonly remote: RemotePresence;
  /** What schedules give. */
  readonly byTime: AllByTime;

  constructor(private readonly deps: Deps) {
    this.remote = deps.remote ?? NOBODY;
    this.inForce = new ExitsInForce({
      clock: deps.host,
      onChange: (orders) => {
        this.assignments.move();
        this.rows.touch(this.idsWith(orders));
      },
      onMoved: (moves) => {
        for (const move of movesOf(moves, this.assignments.current)) deps.alarm("exit_moved", move);
      },
    });
    this.fixed = new FixedAddresses(deps);
    this.quotas = new Quotas({
      ...deps,
      zone: deps.zone ?? timeZone,
      onUsedUp: (id, quota) => {
        deps.alarm("quota_used", usedUp(id, quota, this.assignments.current));
        this.rows.touch(this.idsUnder(id));
      },
      onRenewed: (id) => {
        this.rows.touch(this.idsUnder(id));
        this.touch(id);
      },
    });
    this.limits = new Limits({
      ...deps,
      quotas: this.quotas,
      addressesOf: (id) => this.roster.addressesOf(id),
    });
    this.assignments = new Assignments({
      ...deps,
      ...{ inForce: this.inForce, fixed: this.fixed, limits: this.limits },
      deviceAt: (address) => this.roster.deviceAt(address),
      linkOf: (id) => this.roster.linkOf(id),
      isRemote: (id) => this.remote.isKnown(id),
      onChange: ({ quota }, after) => this.quotas.changed(quota, after.quota),
      onExits: (before, after) => this.exitsChanged(before, after),
    });
    this.roster = new Roster({
      ...deps,
      remote: this.remote,
      decisions: () => this.assignments.current,
      heardIn: (prefix) => this.traffic.heardIn(prefix),
      onSeen: (macs) => this.rows.touch(macs),
    });
    this.choices = new Choices({
      ...deps,
      ...{ assignments: this.assignments, roster: this.roster, fixed: this.fixed },
    });
    this.networks = new LanNetworks({
      ...deps,
      ...{ assignments: this.assignments, choices: this.choices, inForce: this.inForce, roster: this.roster },
      limits: this.limits,
      onChange: () => this.touch(EVERYBODY_ELSE),
      lanBefore: deps.lanBefore ?? [],
      meshes: deps.meshes ?? [],
    });
    this.traffic = new Traffic<DeviceId>({
      ...deps,
      owners: () => this.roster.owners(),
      ids: () => this.roster.ids,
      macs: () => this.roster.macs,
      links: () => this.roster.links,
    });
    this.rows = new Rows({
      ...deps,
      ...{ roster: this.roster, assignments: this.assignments, limits: this.limits, traffic: this.traffic },
      isRemote: (id) => this.remote.isKnown(id),
    });
    this.byTime = allByTime({
      assignments: this.assignments,
      assertExit: (id, exit) => {
        this.networks.assertKnown(id);
        this.choices.assertScheduled(id, exit);
      },
      withSeen: (decisions) => this.networks.withSeen(decisions),
      onChange: (id) => this.touch(id),
    });
    this.remote.onHeard(() => this.rows.touch(this.remote.ids));
  }

  async list(): Promise<DeviceList> {
    // Other answers have who is away from home as of now, too.
    await Promise.all([this.count(), this.limits.count(), this.remote.look(), this.roster.isKnown()]);
    const { current } = this.assignments;
    const [sharedRate, sharedQuota] = [this.limits.of(EVERYBODY_ELSE), this.limits.quotaOf(EVERYBODY_ELSE)];
    return {
      devices: await this.rows.of(this.roster.ids.toSorted()),
      default_exit: formatExit(defaultExitOf(current)),
      exits: namesOf(this.choices.exits),
      direct_allowed: current.directAllowed,
      ...(sharedRate !== null && { shared_rate: sharedRate }),
      ...(sharedQuota !== null && { shared_quota: usedQuotaIn(sharedQuota) }),
    };
  }

  /** What each device has received and sent, as read last. */
  get carried(): ReadonlyMap<string, Figures> {
    return this.traffic.all;
  }

  /** Reads what the devices have received and sent, once a second at most. */
  count(): Promise<void> {
    return this.traffic.read();
  }

  /** Writes what they have received and sent until now, to go on from there after a restart. */
  checkpoint(): (store: Pick<Texts, "write">) => void {
    return this.traffic.checkpoint();
  }

  /** The device that uses this address, or null. */
  async at(address: string): Promise<Device | null> {
    const parsed = parseAddress(address);
    const id = parsed === null ? null : this.roster.holderOf(unmapped(parsed));
    if (id === null) return null;
    if (this.remote.isKnown(id)) await this.remote.look();
    const [device] = await this.rows.of([id]);
    return device ?? null;
  }

  /** Gives a device what a client wants, all of it or nothing; resolves once it is saved and the kernel has it. */
  async assign(idText: string, given: DeviceChange): Promise<void> {
    const id = deviceIdIn(idText);
    const record = this.choices.record(id, given);
    await this.give(id, record).finally(() => this.rows.touch([id]));
  }

  private give(id: LimitId, record: () => Partial<DeviceRecord>): Promise<void> {
    return this.assignments.change((decisions) => withRecord(decisions, id, record()));
  }

  private exitsChanged(before: Decisions, after: Decisions): void {
    for (const change of directChanges(before, after)) this.deps.alarm("direct_changed", change);
    const isNetworkChanged =
      !Bun.deepEquals(before.networks, after.networks) ||
      linksIn(after).some(
        (link) => !Bun.deepEquals(networkOrderIn(before, link), networkOrderIn(after, link)),
      );
    // No device need have it for now.
    if (isNetworkChanged || !Bun.deepEquals(defaultExitOf(before), defaultExitOf(after)))
      this.touch(EVERYBODY_ELSE);
    if (isNetworkChanged) this.rows.touch(this.roster.ids);
  }

  /** The exits that can be given now. */
  get exits(): Exits {
    return this.choices.exits;
  }

  private idsWith(orders: readonly ExitOrder[]): DeviceId[] {
    const links = this.assignments.networksWith(orders);
    const there =
      links.length === 0 ? [] : this.roster.ids.filter((id) => links.includes(`${this.roster.linkOf(id)}`));
    return [...this.assignments.idsWith(orders), ...there];
  }

  /** Those of whom a limit counts. */
  private idsUnder(id: LimitId): readonly DeviceId[] {
    return isDeviceId(id) ? [id] : this.roster.ids;
  }

  private touch(id: LimitId): void {
    if (isDeviceId(id)) this.rows.touch([id]);
    else this.deps.events.publish({ type: "shared_limits", payload: null });
  }

  /** Forgets what people have given a device, and its history. */
  async forget(idText: string): Promise<void> {
    const id = deviceIdIn(idText);
    const wasKnown = this.deps.forgetHistory?.(id) === true;
    const isListed = this.roster.ids.includes(id) || this.remote.isKnown(id);
    if (!isListed && wasKnown) return;
    if (!isListed) throw refused("device_unknown");
    const nothing = Object.fromEntries(FIELD_KEYS.map((key) => [key, null]));
    await this.give(id, () => nothing).finally(() => this.rows.touch([id]));
  }

  async setDefaultExit(text: string): Promise<void> {
    await this.assignments
      .change((decisions) => {
        const exit = [this.choices.defaultExit(text)] as const;
        const after = { ...withRecord(decisions, EVERYBODY_ELSE, { exit }), exitsLost: null };
        // From now on a new network is blocked.
        return areNewOpen(after) ? after : this.networks.withSeen(after);
      })
      .finally(() => this.rows.touch(this.roster.ids));
  }

  /** The number of devices with a rate of their own. */
  get limitedCount(): number {
    return this.limits.rated.length;
  }

  /** Of everyone who has a limit or a quota, by id, as quickly as possible: nothing is counted. */
  get limitFigures(): LimitFigures[] {
    return this.limits.figures;
  }

  /** Limits all devices without a limit of their own together; null ends it. What a schedule gives them ends. */
  async setSharedRate(rate: Rate | null): Promise<void> {
    const given = { rate: rateIn(true, rate) };
    await this.give(EVERYBODY_ELSE, () => given).finally(() => this.touch(EVERYBODY_ELSE));
  }

  /** The same for what they send and receive together in a day or a month. */
  async setSharedQuota(quota: GivenQuota | null): Promise<void> {
    const given = { quota: quotaIn(true, quota) };
    await this.give(EVERYBODY_ELSE, () => given).finally(() => this.touch(EVERYBODY_ELSE));
  }

  /** One sentence while the exits are lost, and nobody has chosen the default exit since; else null. */
  get exitsLost(): string | null {
    return this.assignments.current.exitsLost;
  }

  /** What is allowed, and which devices leave outside the tunnel. */
  get direct(): Direct {
    return directIn(this.assignments.current);
  }

  /**
   * Allows that devices are given the exit `direct`, or takes it from all who have it. Only the operator may: it is a
   * hole in the kill switch.
   */
  async setDirect(allowed: boolean): Promise<Direct> {
    await this.assignments
      .change((decisions) => withDirect(decisions, allowed))
      .finally(() => this.rows.touch(this.roster.ids));
    if (allowed) await this.assignments.permit();
    return this.direct;
  }

  /** See `Assignments`. */
  unlessUsed(tunnel: string, remove: () => Promise<void>, beside?: Beside): Promise<void> {
    return this.assignments.unlessUsed(tunnel, remove, beside);
  }

  /** Calls back after devices have changed, a few times a second at most. */
  onChange(listener: () => void): void {
    this.rows.onTold(listener);
  }

  /** Keeps the devices that are needed, however many strangers are heard. */
  keep(isNeeded: (mac: Mac) => boolean): void {
    const isNeededBefore = this.roster.isNeeded;
    this.roster.isNeeded = (mac) => isNeededBefore(mac) || isNeeded(mac);
  }

  /** The name that a person has given, or null. */
  nameOf(id: DeviceId): string | null {
    return this.assignments.of(id).name;
  }

  /** To be called when remote devices were added or removed, or may come in or not any more. */
  remoteChanged(): void {
    this.linksChanged();
    this.rows.touch(this.roster.ids);
  }

  private linksChanged(): void {
    this.traffic.linksChanged();
    void this.limits.insideIs(this.roster.insides);
  }

  /** The exit of a device that is in force, in words. */
  exitOf(id: DeviceId): string {
    return formatExit(this.assignments.exitOf(id));
  }

  /** The same, as the firewall has it. */
  exitInForceOf(id: DeviceId): Exit {
    return this.assignments.exitOf(id);
  }

  /** The address that a person chose for a device. */
  chosenAddressOf(id: Mac): Address | null {
    return this.assignments.of(id).address;
  }

  /** Who uses which exit; null until it is first known who is there. */
  async use(): Promise<DeviceFacts | null> {
    if (!(await this.roster.isKnown())) return null;
    if (!haveSent(this.carried)) await this.count();
    const { current } = this.assignments;
    const part = (quota: ReturnType<Limits["quotaOf"]>) =>
      quota === null ? {} : { quota: usedQuotaIn(quota) };
    const { quota } = part(this.limits.quotaOf(EVERYBODY_ELSE));
    const devices = this.roster.ids.map((id) => {
      const order = this.assignments.of(id).exit;
      const ofNetwork = part(this.limits.quotaOfNetwork(this.roster.linkOf(id)));
      return {
        exit: this.exitOf(id),
        ...(order !== null && order.length > 1 && { exit_order: order.map(formatExit) }),
        ...(isUsedUp(ofNetwork.quota) ? ofNetwork : part(this.limits.quotaOf(id))),
      };
    });
    const shared = {
      default_exit: formatExit(defaultExitOf(current)),
      ...(quota && { shared_quota: quota }),
    };
    return deviceFactsOf(devices, shared, haveSent(this.carried));
  }

  /** The number of known devices by exit, including exits that no device has. */
  counts(): Record<string, number> {
    return countsOf(this.roster.ids, this.choices.exits, (id) => this.assignments.exitOf(id));
  }

  /** Resolves once all that was begun has had its turn, readings included; limits may not be in force yet. */
  drained(): Promise<void> {
    return this.assignments.decision.drained();
  }

  /** Reads the decisions again, after the start or after another writer has changed the database. */
  async reload(): Promise<void> {
    await this.assignments.reload().finally(() => this.rows.touch(this.roster.ids));
    await this.networks.restored();
  }

  /** Handles a change of the kernel's neighbour table; null if changes may have been missed. */
  saw(neighbour: Neighbour | null): void {
    this.roster.saw(neighbour);
  }

  /** To be called when the interfaces of the LAN are first known, and when they change. */
  lanIs(
    lans: readonly Lan[],
    uplink: string | null,
    own: readonly Address[] = [],
    routers: readonly Address[] = [],
  ): void {
    void this.fixed.takenAre({ own, routers });
    this.roster.lanIs(lans, uplink);
    this.networks
      .lanIs(lans)
      .catch((error: unknown) => this.deps.log.warn(`a new network is not kept yet: ${messageOf(error)}`));
    this.linksChanged();
  }

  /** Another program has changed the firewall, and may have removed the counters or the limits. */
  async check(): Promise<void> {
    await Promise.all([this.traffic.check(), this.limits.check()]);
  }

  /** Tells listeners of devices that become silent, and counts their traffic, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.traffic.watch(signal),
      this.rows.watch(signal),
      this.inForce.watch(signal),
      this.assignments.decision.keepSaved(this.deps.host, signal),
      this.keepLooking(signal),
    ]);
  }

  private async keepLooking(signal: AbortSignal): Promise<void> {
    for (;;) {
      await nextBeat(this.deps.host, SILENCE_EVERY_MS, signal);
      if (signal.aborted) return;
      void this.limits.retry();
      this.rows.touchSilent();
      // No event of the kernel tells of them.
      if (this.roster.byAddress.length > 0) await this.count();
      this.rows.touch([...this.roster.byAddress, ...this.remote.ids]);
    }
  }

  /** The devices without those that are neither known nor assigned. */
  rowsOf(ids: readonly DeviceId[]): Promise<Device[]> {
    return this.rows.of(ids);
  }

  /** All devices with what they are called, as quickly as possible: nothing is counted. */
  named(): Promise<Device[]> {
    return this.rows.of(this.roster.ids);
  }
}
