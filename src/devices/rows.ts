import type { Host } from "../system/host.ts";
import type { Announced } from "./announced.ts";
import type { Assignments } from "./assignments.ts";
import { formatExit } from "./exit.ts";
import type { FixedAddresses } from "./fixed.ts";
import type { DeviceId } from "./id.ts";
import { leasedNames } from "./leases.ts";
import type { Limits } from "./limits.ts";
import type { Presence } from "./neighbourhood.ts";
import { usedQuotaIn } from "./quotas.ts";
import type { Device } from "./schema.ts";
import type { Traffic } from "./traffic.ts";

interface Deps {
  host: Pick<Host, "read" | "now" | "monotonic">;
  assignments: Assignments;
  fixed: FixedAddresses;
  limits: Pick<Limits, "of" | "quotaOf">;
  traffic: Traffic<DeviceId>;
  announced: Announced;
  /** All devices. */
  ids: () => readonly DeviceId[];
  presence: (id: DeviceId) => Presence | null;
  isRemote: (id: DeviceId) => boolean;
}

/** Devices as clients see them. */
export class Rows {
  constructor(private readonly deps: Deps) {}

  /** The devices without those that are neither known nor assigned. */
  async of(ids: readonly DeviceId[]): Promise<Device[]> {
    const names = await leasedNames(this.deps.host);
    const known = new Set(this.deps.ids());
    return ids.filter((id) => known.has(id)).map((id) => this.row(id, names));
  }

  private row(id: DeviceId, leased: ReadonlyMap<string, string>): Device {
    const { host, assignments, fixed, limits, traffic, announced } = this.deps;
    const { name, exit } = assignments.of(id);
    const { rx, tx } = traffic.of(id);
    const rate = limits.of(id);
    const quota = limits.quotaOf(id);
    const presence = this.deps.presence(id);
    const heardAt = presence?.heardAt ?? null;
    return {
      id,
      name: name ?? leased.get(id) ?? announced.of(id) ?? "",
      named: name !== null,
      addresses: [...(presence?.addresses ?? [])],
      interface: presence?.interface ?? null,
      exit: formatExit(assignments.exitOf(id)),
      // Also while a schedule has given it one exit: afterwards the order holds again.
      ...(exit !== null && exit.length > 1 && { exit_order: exit.map(formatExit) }),
      assigned: exit !== null || assignments.current.scheduled.has(id),
      online: presence?.isOnline ?? false,
      seen_at: heardAt === null ? null : new Date(host.now() - (host.monotonic() - heardAt)).toISOString(),
      rx_bytes: rx,
      tx_bytes: tx,
      fixed_address: fixed.of(id),
      ...(rate !== null && { rate }),
      ...(quota !== null && { quota: usedQuotaIn(quota) }),
      ...(this.deps.isRemote(id) && { kind: "remote" as const }),
    };
  }
}
