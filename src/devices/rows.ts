import type { Bus } from "../base/bus.ts";
import { answerOf } from "../base/fact.ts";
import type { Host } from "../system/host.ts";
import { Announced } from "./announced.ts";
import type { Assignments } from "./assignments.ts";
import { DEVICE_FACTS } from "./facts.ts";
import type { DeviceId } from "./id.ts";
import { leasedNames } from "./leases.ts";
import type { Limits } from "./limits.ts";
import { usedQuotaIn } from "./quotas.ts";
import type { Roster } from "./roster.ts";
import type { Device } from "./schema.ts";
import type { Traffic } from "./traffic.ts";
import { type DeviceEvents, Updates } from "./updates.ts";

interface Deps {
  host: Pick<Host, "read" | "hostName" | "now" | "monotonic" | "sleep">;
  roster: Roster;
  assignments: Assignments;
  limits: Pick<Limits, "of" | "quotaOf" | "quotaOfNetwork">;
  traffic: Traffic<DeviceId>;
  isRemote: (id: DeviceId) => boolean;
  events: Pick<Bus<DeviceEvents>, "publish">;
}

/** Devices as clients see them, in answers and in events. */
export class Rows {
  private readonly announced: Announced;
  private readonly updates: Updates;

  constructor(private readonly deps: Deps) {
    const { host, roster } = deps;
    this.announced = new Announced({
      host,
      nameless: () => roster.nameless,
      hasLease: async (id) => (await leasedNames(host)).has(id),
      ids: () => roster.ids,
      onName: (id) => this.touch([id]),
    });
    this.updates = new Updates({
      ...deps,
      clock: host,
      known: () => new Set(roster.ids),
      rowsOf: (ids) => this.of(ids),
    });
  }

  /** The devices without those that are neither known nor assigned. */
  async of(ids: readonly DeviceId[]): Promise<Device[]> {
    const names = await leasedNames(this.deps.host);
    const known = new Set(this.deps.roster.ids);
    return ids.filter((id) => known.has(id)).map((id) => this.row(id, names));
  }

  /** These may have changed: listeners are told what they do not know. */
  touch(ids: Iterable<DeviceId>): void {
    this.updates.touch(ids);
  }

  /** The same of devices that have become silent, of which no event tells. */
  touchSilent(): void {
    this.touch(this.updates.online.filter((id) => !this.deps.roster.isOnline(id)));
  }

  /** Calls back after listeners have been told of devices. */
  onTold(listener: () => void): void {
    this.updates.onTold.push(listener);
  }

  /** Asks devices for their names, until `signal` aborts. */
  watch(signal: AbortSignal): Promise<void> {
    return this.announced.watch(signal);
  }

  private row(id: DeviceId, leased: ReadonlyMap<string, string>): Device {
    const { host, roster, assignments, limits, traffic, isRemote } = this.deps;
    const presence = roster.presence(id);
    const heardAt = presence?.heardAt ?? null;
    const quota = limits.quotaOf(id);
    const ofNetwork = limits.quotaOfNetwork(roster.linkOf(id));
    return answerOf(DEVICE_FACTS, {
      id,
      record: assignments.of(id),
      presence,
      network: assignments.networkName(presence?.interface ?? null),
      told: leased.get(id) ?? this.announced.of(id) ?? undefined,
      exit: assignments.exitOf(id),
      isScheduled: assignments.current.exit.scheduled.has(id),
      seenAt: heardAt === null ? null : new Date(host.now() - (host.monotonic() - heardAt)).toISOString(),
      carried: traffic.of(id),
      rate: limits.of(id),
      quota: quota && usedQuotaIn(quota),
      networkQuota: ofNetwork && usedQuotaIn(ofNetwork),
      isRemote: isRemote(id),
    });
  }
}
