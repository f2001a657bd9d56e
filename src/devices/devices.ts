import {
  type Address,
  addressOf,
  contains,
  lengthOf,
  type Prefix,
  parseAddress,
  unmapped,
} from "../base/address.ts";
import type { AlertCode } from "../base/alert.ts";
import { nextBeat } from "../base/beat.ts";
import { GatewayError, Unsaved } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Mac } from "../base/mac.ts";
import { nameIn } from "../base/name.ts";
import type { Texts } from "../base/saved.ts";
import type { Exit, PolicyPart } from "../killswitch/policy.ts";
import type { Counted, Links } from "../network/counters.ts";
import { markOfDevice } from "../network/device-mark.ts";
import type { Lan } from "../network/lan.ts";
import type { Neighbour } from "../network/neighbours.ts";
import { amountText } from "../shared/quotas.ts";
import { rateText } from "../shared/rates.ts";
import type { Host } from "../system/host.ts";
import { timeZone } from "../system/time-zone.ts";
import { Announced, type Nameless } from "./announced.ts";
import {
  type Assignment,
  Assignments,
  type Decisions,
  type DeviceStorage,
  idsIn,
  withAssignment,
  withScheduled,
} from "./assignments.ts";
import { type AllByTime, allByTime } from "./by-time.ts";
import { Choices } from "./choices.ts";
import { type Direct, directChange, directIn, withDirect } from "./direct.ts";
import { type Exits, exitIn, formatExit, namesOf } from "./exit.ts";
import { formatOrder } from "./exit-order.ts";
import { ExitsInForce, type Move } from "./exits-in-force.ts";
import { type DhcpHosts, FixedAddresses } from "./fixed.ts";
import { type DeviceId, deviceIdIn, EVERYBODY_ELSE, isPrefixId, type LimitId } from "./id.ts";
import { leasedNames } from "./leases.ts";
import { assertSingle, type LimitFigures, Limits, rateIn } from "./limits.ts";
import { NeighbourTable } from "./neighbour-table.ts";
import { Neighbourhood, type Presence, SILENT_MS } from "./neighbourhood.ts";
import { Quotas, quotaIn, usedQuotaIn } from "./quotas.ts";
import { NOBODY, type OnTheRoad } from "./remote.ts";
import { RoutedNetworks } from "./routed-networks.ts";
import { Rows } from "./rows.ts";
import type { Device, DeviceChange, DeviceList, DeviceUpdate, GivenQuota, Quota, Rate } from "./schema.ts";
import { titlesOf } from "./title.ts";
import { type Figures, Traffic } from "./traffic.ts";
import { Updates } from "./updates.ts";

interface Deps {
  host: Pick<Host, "run" | "read" | "hostName" | "macAt" | "sleep" | "now" | "monotonic">;
  store: DeviceStorage;
  killSwitch: {
    update(owner: string, part: PolicyPart): Promise<void>;
    /**
     * The place of a network behind another router: the interfaces that lead to it, and other owners of its addresses.
     */
    wayTo(prefix: Prefix): { interfaces: readonly string[]; overlap: string | null };
  };
  /** The names of all tunnels, `main` first. */
  tunnelNames: () => readonly string[];
  /** Null if the gateway does not serve DHCP. */
  dhcp: DhcpHosts | null;
  remote?: OnTheRoad;
  /** The time zone in which the days of quotas begin. */
  zone?: () => string;
  /** Called with the bytes that a device has carried between two readings. */
  onCarried?: (id: DeviceId, carried: Figures) => void;
  /** Forgets what it has carried in the past. Returns whether anything was known about it. */
  forgetHistory?: (id: DeviceId) => boolean;
  publish: (update: DeviceUpdate) => void;
  publishRemoved: (id: DeviceId) => void;
  /** What everybody else shares may have changed. */
  publishShared: () => void;
  alarm: (code: AlertCode, message: string) => void;
  log: Pick<Log, "warn">;
}

/** How soon listeners are told of a device that has become silent. */
const SILENCE_EVERY_MS = 15_000;
/** Less often than an address is given to another device, and far more often than the kernel forgets an address. */
const COUNT_EVERY_MS = 3_600_000;

/** The devices of the LAN, and the exits that people have given them. */
export class Devices {
  private readonly neighbourhood: Neighbourhood;
  private readonly table: NeighbourTable;
  private readonly networks: RoutedNetworks;
  private readonly inForce: ExitsInForce;
  private readonly assignments: Assignments;
  private readonly fixed: FixedAddresses;
  private readonly limits: Limits;
  private readonly quotas: Quotas;
  private readonly choices: Choices;
  private readonly updates: Updates;
  private readonly traffic: Traffic<DeviceId>;
  private readonly announced: Announced;
  private readonly rows: Rows;
  private uplink: string | null = null;
  /** Null before the LAN is first known. */
  private lans: readonly Lan[] | null = null;

  private readonly remote: OnTheRoad;
  /** What schedules give. */
  readonly byTime: AllByTime;

  private isNeeded: (mac: Mac) => boolean = () => false;

  constructor(private readonly deps: Deps) {
    this.remote = deps.remote ?? NOBODY;
    this.inForce = new ExitsInForce({
      clock: deps.host,
      onChange: (orders) => {
        this.assignments.move();
        const texts = new Set(orders.map(formatOrder));
        const { current } = this.assignments;
        this.updates.touch(
          idsIn(current).filter((id) => texts.has(formatOrder(this.assignments.orderOf(id)))),
        );
      },
      onMoved: (moves) => this.tellMoved(moves),
    });
    this.assignments = new Assignments(
      deps.store,
      deps.killSwitch,
      (before, after) => {
        const change = directChange(before, after);
        if (change !== null) deps.alarm("direct_changed", change);
      },
      this.inForce,
      (id) => this.remote.isKnown(id),
    );
    this.fixed = new FixedAddresses(deps);
    this.quotas = new Quotas({
      ...deps,
      zone: deps.zone ?? timeZone,
      onUsedUp: (id, quota) => this.tellUsedUp(id, quota),
    });
    this.limits = new Limits({
      ...deps,
      quotas: this.quotas,
      addressesOf: (id) => (isPrefixId(id) ? this.remote.addressesOf(id) : this.addressesOf(id)),
    });
    this.neighbourhood = new Neighbourhood(
      () => deps.host.monotonic(),
      (mac) => this.isKept(mac),
    );
    this.table = new NeighbourTable({
      ...deps,
      neighbourhood: this.neighbourhood,
      isOnLan: ({ interface: name }) => this.lans?.some((lan) => lan.interface === name) === true,
      onSeen: (macs) => this.updates.touch(macs),
    });
    this.networks = new RoutedNetworks({
      ...deps,
      decided: () => idsIn(this.assignments.current).filter((id) => !this.remote.isKnown(id)),
      wayTo: (prefix) => deps.killSwitch.wayTo(prefix),
      heardIn: (prefix) => this.traffic.heardIn(prefix),
    });
    this.choices = new Choices({
      ...deps,
      assignments: this.assignments,
      fixed: this.fixed,
      neighbourhood: this.neighbourhood,
      isRemote: (id) => this.remote.isKnown(id),
      prefixes: () => this.lanPrefixes,
    });
    this.traffic = new Traffic<DeviceId>({
      ...deps,
      owners: () => this.owners(),
      ids: () => this.ids,
      macs: () => this.macs,
      links: () => this.links,
    });
    this.announced = new Announced({
      ...deps,
      nameless: () => this.nameless(),
      hasLease: async (id) => (await leasedNames(deps.host)).has(id),
      ids: () => this.ids,
      onName: (id) => this.updates.touch([id]),
    });
    this.rows = new Rows({
      host: deps.host,
      assignments: this.assignments,
      fixed: this.fixed,
      limits: this.limits,
      traffic: this.traffic,
      announced: this.announced,
      ids: () => this.ids,
      presence: (id) => this.presence(id),
      isRemote: (id) => this.remote.isKnown(id),
    });
    this.byTime = allByTime({
      ...{ assignments: this.assignments, limits: this.limits, quotas: this.quotas },
      scheduleExit: (id, exit) => this.scheduleExit(id, exit),
      onLimit: (id) => this.limitChanged(id),
    });
    const { host: clock, publish, publishRemoved } = deps;
    const known = () => new Set(this.ids);
    const rowsOf = (ids: readonly DeviceId[]) => this.rows.of(ids);
    this.remote.onHeard(() => this.updates.touch(this.remote.ids));
    this.updates = new Updates({ clock, publish, publishRemoved, known, rowsOf });
  }

  async list(): Promise<DeviceList> {
    // Other answers have who is on the road as of now, too.
    await Promise.all([this.count(), this.limits.count(), this.remote.look()]);
    const { defaultExit, directAllowed } = this.assignments.current;
    const sharedRate = this.limits.of(EVERYBODY_ELSE);
    const sharedQuota = this.limits.quotaOf(EVERYBODY_ELSE);
    return {
      devices: await this.rows.of(this.ids.toSorted()),
      default_exit: formatExit(defaultExit),
      exits: namesOf(this.choices.exits),
      direct_allowed: directAllowed,
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
    const id = parsed === null ? null : this.holderOf(unmapped(parsed));
    if (id === null) return null;
    if (this.remote.isKnown(id)) await this.remote.look();
    const [device] = await this.rows.of([id]);
    return device ?? null;
  }

  /** Gives a device a name, an exit, an address, a rate, a quota or several of them; resolves once the kernel has them. */
  async assign(idText: string, given: DeviceChange): Promise<void> {
    const id = deviceIdIn(idText);
    const name = given.name === undefined ? undefined : nameIn("name", given.name);
    const isSingle = this.isSingle(id);
    const rate = given.rate === undefined ? undefined : rateIn(isSingle, given.rate);
    const quota = given.quota === undefined ? undefined : quotaIn(isSingle, given.quota);
    if ([name, given.exit, given.address, rate, quota].every((each) => each === undefined))
      throw new GatewayError("bad_request", "name, exit, address, rate or quota is required");
    if (isPrefixId(id)) this.refuseOverlap(id);
    const decision = this.decisionOf(id, name, given.exit);
    // Nothing opens for a moment because of a request that is refused.
    this.assignments.assertPossible(decision);
    const address = given.address == null ? null : this.choices.address(id, given.address);
    const isAddressed = given.address !== undefined && !isPrefixId(id);
    const former = this.fixed.of(id);
    // This comes first, because another request may take the address while the kernel gets the exit.
    if (isAddressed) await this.fixed.set(id as Mac, address);
    try {
      await this.limited(id, { rate, quota }, async () => {
        if (name !== undefined || given.exit !== undefined) await this.change(id, decision);
      });
    } catch (error) {
      if (isAddressed) await this.fixed.set(id as Mac, former);
      throw error;
    }
    this.updates.touch([id]);
  }

  /** Limits a device, and runs the rest of the change. If that fails, the device has its former limits. */
  private async limited(
    id: DeviceId,
    { rate, quota }: { rate: Rate | null | undefined; quota: Quota | null | undefined },
    rest: () => Promise<void>,
  ): Promise<void> {
    const [former, formerQuota] = [this.limits.givenOf(id), this.quotas.givenOf(id)];
    const unsaved = rate === undefined ? null : await this.limits.set(id, rate);
    let unsavedQuota: Unsaved | null = null;
    try {
      // A quota ends last, because it would begin again.
      if (quota != null) unsavedQuota = await this.limits.setQuota(id, quota);
      await rest();
      if (quota === null) unsavedQuota = await this.limits.setQuota(id, null);
    } catch (error) {
      // What is in force without being saved is so for the limit, too.
      if (error instanceof Unsaved) throw error;
      if (rate !== undefined) await this.limits.giveBack(id, former);
      if (quota != null) await this.limits.giveQuotaBack(id, formerQuota);
      throw error;
    }
    if (unsaved !== null || unsavedQuota !== null) throw unsaved ?? unsavedQuota;
  }

  private tellUsedUp(id: LimitId, quota: Quota): void {
    const isShared = id === EVERYBODY_ELSE;
    const title = isShared
      ? "The devices without a quota of their own have used their"
      : `${titlesOf([id], this.assignments.current)} has used its`;
    const renewed = quota.every === "day" ? "midnight" : "the end of the month";
    const end = this.quotas.scheduled.includes(id) ? `${renewed} or the end of the schedule` : renewed;
    const used = `${title} quota of ${amountText(quota)}`;
    const { at_end } = quota;
    const state = at_end === "blocked" ? "blocked" : at_end !== "told" && `limited to ${rateText(at_end)}`;
    const now = isShared ? `are ${state}${at_end === "blocked" ? "" : " together"}` : `is ${state}`;
    this.deps.alarm("quota_used", state ? `${used}, and ${now} until ${end}.` : `${used}.`);
    if (!isShared) this.updates.touch([id]);
  }

  /** In one sentence for all devices that have moved from the same exit to the same. */
  private tellMoved(moves: readonly Move[]): void {
    const { current } = this.assignments;
    const headed = new Map(moves.map((move) => [formatOrder(move.order), headOf(move)]));
    const byHead = Map.groupBy(idsIn(current), (id) => headed.get(formatOrder(this.assignments.orderOf(id))));
    for (const [head, ids] of byHead)
      if (head !== undefined) this.deps.alarm("exit_moved", `${head}: ${titlesOf(ids, current)}.`);
  }

  private decisionOf(
    id: DeviceId,
    name: string | undefined,
    exit: DeviceChange["exit"],
  ): (decisions: Decisions) => Decisions {
    return this.edit(
      id,
      (assigned) => ({
        name: name ?? assigned.name,
        exit: exit === undefined ? assigned.exit : exit === null ? null : this.choices.exit(id, exit),
      }),
      exit !== undefined,
    );
  }

  /** The exits that can be given now. */
  get exits(): Exits {
    return this.choices.exits;
  }

  /** Throws `not_found` if no device could be given this exit. */
  assertExit(exit: string): void {
    exitIn(exit, this.choices.exits);
  }

  /** Throws `bad_request` if this can have neither rate nor quota. */
  assertLimit(id: LimitId, what: "rate" | "quota"): void {
    if (id !== EVERYBODY_ELSE) assertSingle(this.isSingle(id), what);
  }

  private isSingle(id: DeviceId): boolean {
    return !isPrefixId(id) || this.remote.isKnown(id);
  }

  private async scheduleExit(id: DeviceId, exit: string | null): Promise<void> {
    if (exit !== null && isPrefixId(id)) this.refuseOverlap(id);
    await this.assignments
      .change((decisions) =>
        withScheduled(decisions, id, exit === null ? null : exitIn(exit, this.choices.exits)),
      )
      .finally(() => this.updates.touch([id]));
  }

  private limitChanged(id: LimitId): void {
    if (id === EVERYBODY_ELSE) this.deps.publishShared();
    else this.updates.touch([id]);
  }

  /** Forgets the name, the exit, the address, the limit, the quota and the history of a device. */
  async forget(idText: string): Promise<void> {
    const id = deviceIdIn(idText);
    const wasKnown = this.deps.forgetHistory?.(id) === true;
    const isListed = this.ids.includes(id) || this.remote.isKnown(id);
    if (!isListed && wasKnown) return;
    if (!isListed) throw new GatewayError("not_found", "id: there is no such device");
    await this.change(
      id,
      this.edit(id, () => ({ name: null, exit: null }), true),
    );
    if (!isPrefixId(id)) await this.fixed.set(id, null);
    const unsaved = [await this.limits.set(id, null), await this.limits.setQuota(id, null)];
    for (const each of unsaved) if (each !== null) throw each;
  }

  async setDefaultExit(text: string): Promise<void> {
    await this.assignments
      .change((decisions) => ({
        ...decisions,
        defaultExit: this.choices.defaultExit(text),
        exitsLost: null,
      }))
      .finally(() => this.updates.touch(this.ids));
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
    const given = rateIn(true, rate);
    const unsaved = await this.limits
      .set(EVERYBODY_ELSE, given)
      .finally(() => this.limitChanged(EVERYBODY_ELSE));
    if (unsaved !== null) throw unsaved;
  }

  /** The same for what they send and receive together in a day or a month. */
  async setSharedQuota(quota: GivenQuota | null): Promise<void> {
    const given = quotaIn(true, quota);
    const unsaved = await this.limits
      .setQuota(EVERYBODY_ELSE, given)
      .finally(() => this.limitChanged(EVERYBODY_ELSE));
    if (unsaved !== null) throw unsaved;
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
      .finally(() => this.updates.touch(this.ids));
    return this.direct;
  }

  /** Runs the removal of a tunnel; throws if devices leave by it. None can be given it meanwhile. */
  unlessUsed(tunnel: string, remove: () => Promise<void>): Promise<void> {
    return this.assignments.decision.between(async () => {
      this.choices.assertUnused(tunnel);
      await remove();
    });
  }

  /** Calls back after devices have changed, a few times a second at most. */
  onChange(listener: () => void): void {
    this.updates.onTold.push(listener);
  }

  /** Keeps the devices that are needed, however many strangers are heard. */
  keep(isNeeded: (mac: Mac) => boolean): void {
    this.isNeeded = isNeeded;
  }

  /** The name that a person has given, or null. */
  nameOf(id: DeviceId): string | null {
    return this.assignments.of(id).name;
  }

  isOnline(id: DeviceId): boolean {
    return this.presence(id)?.isOnline === true;
  }

  /** Whether a network behind another router that people have declared has addresses of this one. */
  hasPrefixIn(prefix: Prefix): boolean {
    return this.networks.prefixes.some(
      (each) => contains(prefix, addressOf(each)) || contains(each, addressOf(prefix)),
    );
  }

  /** To be called when devices on the road were added or removed, or may come in or not any more. */
  remoteChanged(): void {
    this.traffic.linksChanged();
    void this.limits.insideIs(this.insides);
    this.updates.touch(this.ids);
  }

  /** The exit of a device that is in force, in words. */
  exitOf(id: DeviceId): string {
    return formatExit(this.assignments.exitOf(id));
  }

  /** The same, as the firewall has it. */
  wayOutOf(id: DeviceId): Exit {
    return this.assignments.exitOf(id);
  }

  /** The addresses that a device has, or had last since the start. */
  addressesOf(id: Mac): readonly Address[] {
    return (this.neighbourhood.presence(id)?.addresses ?? []).flatMap((each) => parseAddress(each) ?? []);
  }

  /** The address that a person chose for a device. */
  chosenAddressOf(id: Mac): Address | null {
    return this.fixed.of(id);
  }

  /** The number of known devices by exit, including exits that no device has. */
  counts(): Record<string, number> {
    const all = namesOf({ ...this.choices.exits, directAllowed: true });
    const counts = new Map(all.map((exit) => [exit, 0]));
    for (const id of this.ids) {
      const exit = formatExit(this.assignments.exitOf(id));
      counts.set(exit, (counts.get(exit) ?? 0) + 1);
    }
    return Object.fromEntries(counts);
  }

  /** Reads the decisions again, after the start or after another writer has changed the database. */
  async load(): Promise<void> {
    await Promise.all([this.assignments.load(), this.fixed.load(), this.limits.load()]);
    this.updates.touch(this.ids);
  }

  /** Handles a change of the kernel's neighbour table; null if changes may have been missed. */
  saw(neighbour: Neighbour | null): void {
    this.table.saw(neighbour);
  }

  /** To be called when a tunnel begins or ceases to carry traffic. */
  tunnelIs(name: string, isUp: boolean): void {
    this.inForce.tunnelIs(name, isUp);
  }

  /** To be called with what a start has found, before the kill switch is loaded. */
  tunnelsAre(found: readonly (readonly [name: string, isUp: boolean])[]): void {
    this.inForce.tunnelsAre(found);
  }

  tunnelRemoved(name: string): void {
    this.inForce.forget(name);
  }

  /** To be called when the interfaces of the LAN are first known, and when they change. */
  lanIs(
    lans: readonly Lan[],
    uplink: string | null,
    own: readonly Address[] = [],
    routers: readonly Address[] = [],
  ): void {
    const before = this.lans;
    this.lans = lans;
    void this.fixed.takenAre({ own, routers });
    this.uplink = uplink;
    this.traffic.linksChanged();
    void this.limits.insideIs(this.insides);
    // The table is first read once its changes are watched.
    if (before !== null && !Bun.deepEquals(lans, before)) void this.look();
  }

  /** Reads the kernel's neighbour table, for changes that its events do not report. */
  look(): Promise<void> {
    return this.table.look();
  }

  /** Another program has changed the firewall, and may have removed the counters or the limits. */
  firewallsChanged(): void {
    void this.traffic.check();
    void this.limits.check();
  }

  /** Tells listeners of devices that become silent, and counts their traffic, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    void this.keepCounting(signal);
    void this.announced.watch(signal);
    void this.inForce.watch(signal);
    void this.assignments.decision.keepSaved(this.deps.host, signal);
    for (;;) {
      await nextBeat(this.deps.host, SILENCE_EVERY_MS, signal);
      if (signal.aborted) return;
      void this.limits.lookAfter();
      const { online } = this.updates;
      this.updates.touch(online.filter((id) => this.presence(id)?.isOnline !== true));
      // No event of the kernel tells of them.
      if (this.networks.prefixes.length > 0) await this.count();
      this.updates.touch([...this.networks.prefixes, ...this.remote.ids]);
    }
  }

  private async keepCounting(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.count();
      await this.deps.host.sleep(COUNT_EVERY_MS, signal);
    }
  }

  /** Who may ask the gateway's own resolver: those about whom people have decided something, and the others on the LAN. */
  get askers(): { decided: DeviceId[]; others: Mac[] } {
    const decided = this.ids.filter((id) => (isPrefixId(id) ? !this.remote.isKnown(id) : this.isKept(id)));
    return { decided, others: this.neighbourhood.macs };
  }

  private get ids(): DeviceId[] {
    const decided = idsIn(this.assignments.current).filter(
      (id) => !this.remote.isKnown(id) || this.remote.ids.includes(id as Prefix),
    );
    return [
      ...new Set([
        ...this.neighbourhood.macs,
        ...decided,
        ...this.remote.ids,
        ...this.fixed.ids,
        ...this.limits.ids.filter((id) => !isPrefixId(id)),
      ]),
    ];
  }

  /** Those of the LAN. */
  private get macs(): Mac[] {
    return this.ids.flatMap((id) => (isPrefixId(id) ? [] : [id]));
  }

  /** The devices without those that are neither known nor assigned. */
  rowsOf(ids: readonly DeviceId[]): Promise<Device[]> {
    return this.rows.of(ids);
  }

  /** All devices with what they are called, as quickly as possible: nothing is counted. */
  named(): Promise<Device[]> {
    return this.rows.of(this.ids);
  }

  /** Whether somebody has decided something about it. */
  private isKept(mac: Mac): boolean {
    const { assigned, scheduled } = this.assignments.current;
    const isAssigned = assigned.has(mac) || scheduled.has(mac) || this.fixed.of(mac) !== null;
    return isAssigned || this.limits.isGiven(mac) || this.isNeeded(mac);
  }

  private presence(id: DeviceId): Presence | null {
    if (isPrefixId(id) && this.remote.isKnown(id)) return this.remotePresence(id);
    return isPrefixId(id) ? this.networks.presence(id) : this.neighbourhood.presence(id);
  }

  private remotePresence(id: Prefix): Presence {
    const heardAt = this.remote.heard.get(id) ?? null;
    return {
      interface: this.remote.link,
      addresses: this.remote.addressesOf(id),
      heardAt,
      isOnline: heardAt !== null && this.deps.host.monotonic() - heardAt < SILENT_MS,
    };
  }

  private refuseOverlap(prefix: Prefix): void {
    if (this.remote.isKnown(prefix)) return;
    if (this.remote.overlaps(prefix))
      throw new GatewayError(
        "bad_request",
        `id: ${prefix} has addresses of devices on the road; to add one: portcullis remote add <name>`,
      );
    this.networks.refuseOverlap(prefix);
  }

  /** The interfaces from which devices come. */
  private get insides(): string[] {
    const { lans, remote } = this.links;
    return [...lans, ...(remote === null ? [] : [remote])];
  }

  /** Where traffic is counted. */
  private get links(): Links {
    const remote = this.remote.ids.length === 0 ? null : this.remote.link;
    const networks = this.networks.prefixes.toSorted((a, b) => lengthOf(b) - lengthOf(a));
    return { lans: linksOf(this.lans ?? []), remote, uplink: this.uplink, networks };
  }

  /** The device that a counter counts for. */
  private owners(): (of: Counted) => DeviceId | null {
    const macs = new Set(this.macs);
    const byMark = new Map([...macs].map((mac) => [markOfDevice(mac), mac]));
    return (of) => {
      if ("mac" in of) return macs.has(of.mac) ? of.mac : null;
      if ("mark" in of) return byMark.get(of.mark) ?? null;
      return "network" in of ? of.network : this.ownerOf(of.address);
    };
  }

  /** The device that has the address, or had it last, of this link if one is given. */
  ownerOf(address: Address, link: string | null = null): DeviceId | null {
    return this.remote.of(address) ?? this.networks.of(address) ?? this.deviceAt(address, link);
  }

  /**
   * The device that sends from an address now. It may be one that is not kept, because there are so many or because it has so many
   * addresses: then the kernel knows it, as it has just sent it something.
   */
  senderAt(address: Address, link: string | null): DeviceId | null {
    const links = link === null ? linksOf(this.lans ?? []) : [link];
    const inKernel = () => links.flatMap((each) => this.deps.host.macAt(address, each) ?? [])[0] ?? null;
    return this.ownerOf(address, link) ?? inKernel();
  }

  /** The same for addresses that no network behind another router has. */
  deviceAt(address: Address, link: string | null = null): Mac | null {
    return this.neighbourhood.ownerOf(address, link === null ? linksOf(this.lans ?? []) : [link]);
  }

  /** The device that uses an address now. */
  holderOf(address: Address): DeviceId | null {
    return this.remote.of(address) ?? this.networks.of(address) ?? this.neighbourhood.holderOf(address);
  }

  /** The devices that can be asked without a packet leaving the LAN. */
  private nameless(): Nameless[] {
    const { lanPrefixes: prefixes } = this;
    return this.neighbourhood.macs.flatMap((id) => {
      const presence = this.neighbourhood.presence(id);
      if (presence?.isOnline !== true || this.assignments.of(id).name !== null) return [];
      const addresses = presence.addresses.flatMap((each) => parseAddress(each) ?? []);
      const address = addresses.find((each) => prefixes.some((prefix) => contains(prefix, each)));
      return address === undefined ? [] : [{ id, address }];
    });
  }

  /** A person's decision about the exit takes precedence over a schedule. */
  private edit(
    id: DeviceId,
    edit: (assigned: Assignment) => Assignment,
    endsScheduled: boolean,
  ): (decisions: Decisions) => Decisions {
    return (decisions) => {
      const assignment = edit(decisions.assigned.get(id) ?? { name: null, exit: null });
      return withAssignment(endsScheduled ? withScheduled(decisions, id, null) : decisions, id, assignment);
    };
  }

  private async change(id: DeviceId, edit: (decisions: Decisions) => Decisions): Promise<void> {
    await this.assignments.change(edit).finally(() => this.updates.touch([id]));
  }

  private get lanPrefixes(): Prefix[] {
    return (this.lans ?? []).flatMap((lan) => lan.prefixes);
  }
}

/** Why devices with this order have moved. */
function headOf({ order, from, to }: Move): string {
  const names = order.map(formatExit);
  const [former, present] = [formatExit(from), formatExit(to)];
  const why = names.indexOf(present) < names.indexOf(former) ? `${present} is up` : `${former} is down`;
  return `Moved from ${former} to ${present}, because ${why}`;
}

function linksOf(lans: readonly Lan[]): string[] {
  return lans.map((lan) => lan.interface);
}
