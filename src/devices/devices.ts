import type { AlertCode } from "../alert.ts";
import { GatewayError, messageOf } from "../errors.ts";
import type { Exit, PolicyPart } from "../killswitch/policy.ts";
import type { Log } from "../log.ts";
import { nameIn } from "../name.ts";
import type { Lan } from "../network/lan.ts";
import { type Neighbour, readNeighbours } from "../network/neighbours.ts";
import type { Host } from "../system/host.ts";
import { type Assignment, Assignments, type DeviceStorage, idsOn, withAssignment } from "./assignments.ts";
import { exitIn, formatExit } from "./exit.ts";
import { type DeviceId, deviceIdIn, isPrefixId, overlap } from "./id.ts";
import { leasedNames } from "./leases.ts";
import { Neighbourhood, type Presence } from "./neighbourhood.ts";
import type { Device, DeviceList, DeviceUpdate } from "./schema.ts";
import { Updates } from "./updates.ts";

interface Deps {
  host: Pick<Host, "run" | "read" | "sleep" | "now" | "monotonic">;
  store: DeviceStorage;
  killSwitch: { update(owner: string, part: PolicyPart): Promise<void> };
  /** The names of all tunnels, `main` first. */
  tunnelNames: () => readonly string[];
  publish: (update: DeviceUpdate) => void;
  alarm: (code: AlertCode, message: string) => void;
  log: Pick<Log, "warn">;
}

/** Pause between two readings of the table. */
const LOOK_EVERY_MS = 1_000;
/** How soon listeners are told of a device that has fallen silent. */
const SILENCE_EVERY_MS = 15_000;

/** The devices of the LAN, and the exits that people have given them. */
export class Devices {
  private readonly neighbourhood: Neighbourhood;
  private readonly assignments: Assignments;
  private readonly updates: Updates;
  /** Neighbours on other interfaces are not devices. */
  private lans: readonly Lan[] | null = null;
  /** What changes while the table is read, for each reading. */
  private readonly looks = new Set<Neighbour[]>();
  private isLooking = false;
  private isLookDue = false;

  constructor(private readonly deps: Deps) {
    this.assignments = new Assignments(deps.store, deps.killSwitch);
    this.neighbourhood = new Neighbourhood(
      () => deps.host.monotonic(),
      (mac) => this.assignments.current.assigned.has(mac),
    );
    const { host: clock, publish } = deps;
    this.updates = new Updates({ clock, publish, rowsOf: (ids) => this.rowsOf(ids) });
  }

  async list(): Promise<DeviceList> {
    const { defaultExit, isDirectAllowed } = this.assignments.current;
    return {
      devices: await this.rowsOf(this.ids.toSorted()),
      default_exit: formatExit(defaultExit),
      exits: [...this.deps.tunnelNames(), "blocked", ...(isDirectAllowed ? ["direct"] : [])],
      direct_allowed: isDirectAllowed,
    };
  }

  /** Gives a device a name, an exit or both; resolves once the kernel has the exit. */
  async assign(idText: string, given: { name?: string; exit?: string }): Promise<void> {
    const id = deviceIdIn(idText);
    const name = given.name === undefined ? undefined : nameIn("name", given.name);
    if (name === undefined && given.exit === undefined)
      throw new GatewayError("bad_request", "name or exit is required");
    this.refuseOnLink(id);
    await this.change(id, (assigned) => ({
      name: name ?? assigned.name,
      exit: given.exit === undefined ? assigned.exit : this.exitIn(given.exit),
    }));
  }

  /** Forgets the name and the exit of a device. */
  async forget(idText: string): Promise<void> {
    const id = deviceIdIn(idText);
    if (!this.ids.includes(id)) throw new GatewayError("not_found", "id: there is no such device");
    await this.change(id, () => ({ name: null, exit: null }));
  }

  async setDefaultExit(text: string): Promise<void> {
    if (text === "direct")
      throw new GatewayError(
        "bad_request",
        "exit: the default exit cannot be direct; give it to single devices",
      );
    await this.assignments.change((decisions) => ({ ...decisions, defaultExit: this.exitIn(text) }));
    this.updates.touch(this.ids);
  }

  /**
   * Allows the exit `direct`, or withdraws it: devices that have it are blocked then. Returns the names of these.
   */
  async setDirect(isAllowed: boolean): Promise<string[]> {
    const before = await this.assignments.change((decisions) => {
      const blocked = [...decisions.assigned].map(
        ([id, { name, exit }]) =>
          [id, { name, exit: exit?.to === "direct" ? ({ to: "blocked" } as const) : exit }] as const,
      );
      const assigned = isAllowed ? decisions.assigned : new Map(blocked);
      return { ...decisions, assigned, isDirectAllowed: isAllowed };
    });
    const moved = isAllowed ? [] : idsOn("direct", before);
    this.updates.touch(moved);
    const titles = moved.map((id) => this.titleOf(id));
    if (before.isDirectAllowed !== isAllowed) this.alarmDirect(isAllowed, titles);
    return titles;
  }

  /** For people: the devices that leave outside the tunnel. */
  get direct(): string[] {
    const { current } = this.assignments;
    return current.isDirectAllowed ? idsOn("direct", current).map((id) => this.titleOf(id)) : [];
  }

  /** For people: which devices leave by a tunnel because someone chose it, or because it is the default exit. */
  devicesOf(tunnel: string): string[] {
    const { current } = this.assignments;
    const all =
      formatExit(current.defaultExit) === tunnel ? ["the devices without an exit of their own"] : [];
    return [...idsOn(tunnel, current).map((id) => this.titleOf(id)), ...all];
  }

  /** The number of known devices by exit, also of the exits that none has. */
  counts(): Record<string, number> {
    const counts = new Map([...this.deps.tunnelNames(), "blocked", "direct"].map((exit) => [exit, 0]));
    for (const id of this.ids) {
      const exit = formatExit(this.assignments.exitOf(id));
      counts.set(exit, (counts.get(exit) ?? 0) + 1);
    }
    return Object.fromEntries(counts);
  }

  /** Reads the decisions again, after the start or after another writer has changed the database. */
  async load(): Promise<void> {
    await this.assignments.load();
    this.updates.touch(this.ids);
  }

  /** Takes in a change of the kernel's neighbour table; null if changes may have been missed. */
  saw(neighbour: Neighbour | null): void {
    if (neighbour === null) return void this.lookAgain();
    if (!this.isOnLan(neighbour)) return;
    for (const during of this.looks) during.push(neighbour);
    this.updates.touch(this.neighbourhood.take(neighbour));
  }

  /** To be called when the interfaces of the LAN are first known, and when they change. */
  lanIs(lans: readonly Lan[]): void {
    const before = this.lans;
    this.lans = lans;
    // The table is first read once its changes are watched.
    if (before !== null && !Bun.deepEquals(lans, before)) void this.look();
  }

  /** Reads the kernel's neighbour table, for what its events do not tell. */
  async look(): Promise<void> {
    const { host, log } = this.deps;
    const during: Neighbour[] = [];
    this.looks.add(during);
    try {
      const all = await readNeighbours(host);
      // What changed meanwhile may be missing from the table as it was read.
      this.neighbourhood.takeAll(all.filter((neighbour) => this.isOnLan(neighbour)));
      for (const neighbour of during) this.neighbourhood.take(neighbour);
      this.updates.touch(this.neighbourhood.macs);
    } catch (error) {
      log.warn(`the neighbour table could not be read: ${messageOf(error)}`);
    } finally {
      this.looks.delete(during);
    }
  }

  /** Tells listeners of devices that fall silent, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.deps.host.sleep(SILENCE_EVERY_MS, signal);
      if (signal.aborted) return;
      const { online } = this.updates;
      this.updates.touch(online.filter((id) => this.presenceOf(id)?.isOnline !== true));
    }
  }

  /** Whoever floods the LAN makes the kernel drop events all the time. */
  private async lookAgain(): Promise<void> {
    this.isLookDue = true;
    if (this.isLooking) return;
    this.isLooking = true;
    while (this.isLookDue) {
      this.isLookDue = false;
      await this.look();
      await this.deps.host.sleep(LOOK_EVERY_MS);
    }
    this.isLooking = false;
  }

  private get ids(): DeviceId[] {
    return [...new Set<DeviceId>([...this.neighbourhood.macs, ...this.assignments.current.assigned.keys()])];
  }

  /** Without those that are neither known nor assigned. */
  private async rowsOf(ids: readonly DeviceId[]): Promise<Device[]> {
    const names = await leasedNames(this.deps.host);
    const known = new Set(this.ids);
    return ids.filter((id) => known.has(id)).map((id) => this.device(id, names));
  }

  private presenceOf(id: DeviceId): Presence | null {
    return isPrefixId(id) ? null : this.neighbourhood.presence(id);
  }

  private device(id: DeviceId, names: ReadonlyMap<string, string>): Device {
    const { name, exit } = this.assignments.of(id);
    const { host } = this.deps;
    const presence = this.presenceOf(id);
    const heardAt = presence?.heardAt ?? null;
    return {
      id,
      name: name ?? names.get(id) ?? "",
      addresses: [...(presence?.addresses ?? [])],
      interface: presence?.interface ?? null,
      exit: formatExit(this.assignments.exitOf(id)),
      assigned: exit !== null,
      online: presence?.isOnline ?? false,
      seen_at: heardAt === null ? null : new Date(host.now() - (host.monotonic() - heardAt)).toISOString(),
    };
  }

  private async change(id: DeviceId, edit: (assigned: Assignment) => Assignment): Promise<void> {
    const before = await this.assignments.change((decisions) =>
      withAssignment(decisions, id, edit(decisions.assigned.get(id) ?? { name: null, exit: null })),
    );
    this.updates.touch([id]);
    const was = before.assigned.get(id)?.exit?.to === "direct";
    const is = this.assignments.of(id).exit?.to === "direct";
    if (is && !was) this.deps.alarm("device_direct", `${this.titleOf(id)} leaves outside the tunnel now.`);
    if (was && !is)
      this.deps.alarm("device_not_direct", `${this.titleOf(id)} no longer leaves outside the tunnel.`);
  }

  /** On the gateway's own cables a prefix would be an exit for many devices that nobody has named. */
  private refuseOnLink(id: DeviceId): void {
    if (!isPrefixId(id)) return;
    for (const { interface: name, prefixes } of this.lans ?? [])
      for (const prefix of prefixes)
        if (overlap(id, prefix))
          throw new GatewayError(
            "bad_request",
            `id: overlaps ${prefix}, the network of ${name} itself; give the devices there by their MAC addresses`,
          );
  }

  private exitIn(text: string): Exit {
    return exitIn(text, this.deps.tunnelNames(), this.assignments.current.isDirectAllowed);
  }

  private alarmDirect(isAllowed: boolean, titles: readonly string[]): void {
    const { alarm } = this.deps;
    const blocked = titles.length === 0 ? "" : ` Blocked now: ${titles.join(", ")}.`;
    if (isAllowed) alarm("direct_allowed", "The operator allows devices to leave outside the tunnel.");
    else alarm("direct_withdrawn", `No device may leave outside the tunnel any more.${blocked}`);
  }

  private titleOf(id: DeviceId): string {
    const { name } = this.assignments.of(id);
    return name === null ? id : `${name} (${id})`;
  }

  private isOnLan({ interface: name }: Neighbour): boolean {
    return this.lans?.some((lan) => lan.interface === name) === true;
  }
}
