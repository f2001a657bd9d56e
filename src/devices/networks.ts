import { addressOf, isLinkLocal } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import { hasPageAtFirst, missingIn } from "../killswitch/network-part.ts";
import type { Lan } from "../network/lan.ts";
import { linkIn, networkIdOf } from "../shared/network-id.ts";
import type { Assignments } from "./assignments.ts";
import { defaultExitOf } from "./assignments.ts";
import type { Choices } from "./choices.ts";
import { formatExit } from "./exit.ts";
import { asOrder } from "./exit-order.ts";
import type { ExitsInForce } from "./exits-in-force.ts";
import type { LimitId } from "./id.ts";
import type { Limits } from "./limits.ts";
import { NETWORK_FIELDS, NETWORK_KEYS, type NetworkRecord, UNSET_NETWORK } from "./network-record.ts";
import {
  type LanNetwork,
  type LanNetworkChange,
  type LanNetworkList,
  networkAnswer,
} from "./network-schema.ts";
import { quotaIn } from "./quota.ts";
import { usedQuotaIn } from "./quotas.ts";
import { rateIn } from "./rate.ts";
import {
  areNewOpen,
  type Decisions,
  type DeviceRecord,
  linksIn,
  networkOrderIn,
  orderOfNetwork,
  withRecord,
} from "./record.ts";
import { refused } from "./refusals.ts";
import type { Roster } from "./roster.ts";

interface Deps {
  assignments: Assignments;
  choices: Pick<Choices, "networkExit">;
  inForce: Pick<ExitsInForce, "of">;
  roster: Pick<Roster, "ids" | "linkOf">;
  limits: Pick<Limits, "of" | "quotaOf" | "count">;
  /** To be called after each change of what a network has together, and after each that failed. */
  onChange: () => void;
  /** The interfaces of the meshes that root has named, whether they are there or not. */
  meshes: readonly string[];
  /** The LAN interfaces of former starts, as far as they are known. */
  lanBefore: readonly string[];
  alarm: Alarm;
}

/** The networks of the LAN, and what people have decided about them. */
export class LanNetworks {
  /** Null before the LAN is first known. */
  private lans: readonly Lan[] | null = null;
  /** The interfaces that were the LAN's before anything could be blocked as new. */
  private readonly seen = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /** The same as `list`, with what was used until now. */
  async counted(): Promise<LanNetworkList> {
    await this.deps.limits.count();
    return this.list();
  }

  list(): LanNetworkList {
    const { current } = this.deps.assignments;
    const links = new Set([...this.links, ...linksIn(current)]);
    return {
      networks: [...links].sort().map((link) => this.rowOf(link)),
      default_exit: formatExit(defaultExitOf(current)),
    };
  }

  /** Decides what a client wants, all of it or nothing; resolves once it is saved and the kernel has it. */
  async set(link: string, given: LanNetworkChange): Promise<void> {
    const keys = NETWORK_KEYS.filter((key) => given[key] !== undefined);
    const together = togetherIn(given);
    if (keys.length === 0 && Object.keys(together).length === 0)
      throw refused("required", { field: "name, exit, page, others, rate or quota" });
    const change = this.deps.assignments.change((before) => {
      const id = networkIdOf(link);
      this.assertKnown(id);
      const decisions = this.withSeen(before);
      const record = decisions.networks?.get(link) ?? UNSET_NETWORK;
      const after = withNetwork(decisions, link, this.changed(record, given));
      if (given.page === false) this.assertPage(after);
      // What a person decides ends what a schedule gives.
      return withRecord(after, id, { ...together, ...(given.exit !== undefined && { exit: null }) });
    });
    await change.finally(this.deps.onChange);
  }

  /** Throws for a network that neither is there nor was seen before. */
  assertKnown(id: LimitId): void {
    const link = linkIn(id);
    if (link === null || this.isPresent(link)) return;
    if (this.deps.assignments.current.networks?.has(link) !== true) throw refused("network_unknown");
  }

  /** Forgets what was decided about a network that is gone. If it returns, it is new. */
  async forget(link: string): Promise<void> {
    if (this.isPresent(link)) throw refused("network_present", { network: link });
    await this.deps.assignments.change((decisions) => {
      if (decisions.networks?.has(link) !== true) throw refused("network_unknown");
      const networks = new Map(decisions.networks);
      networks.delete(link);
      this.seen.delete(link);
      const nothing = { exit: null, rate: null, quota: null };
      return withRecord({ ...decisions, networks }, networkIdOf(link), nothing);
    });
  }

  /** To be called when the interfaces of the LAN are first known, and when they change. */
  async lanIs(lans: readonly Lan[]): Promise<void> {
    const isFirst = this.lans === null;
    this.lans = lans;
    const { current, inKernel } = this.deps.assignments;
    const known = this.knownIn(current, isFirst);
    const isOpen = [current, inKernel].every(
      (each) => areNewOpen(each) && missingIn(this.closableIn(each), lans).length === 0,
    );
    const fresh = lans.filter((lan) =>
      lan.mesh ? isNewMesh(lan, current) : !isOpen && known?.has(lan.interface) === false,
    );
    for (const { interface: link, mesh } of lans)
      if (!mesh && (known?.has(link) !== false || isOpen)) this.seen.add(link);
    if (areNewOpen(current) && current.networks === null && fresh.length === 0) return;
    await this.deps.assignments.change((before) => this.withNew(fresh, this.withSeen(before)));
    for (const { interface: network } of fresh) this.deps.alarm("network_new", { network });
  }

  /**
   * The decisions with all networks that were there before: from now on, one that is not among them is new. Nothing is
   * kept before anybody has decided about a network, or about the home's default exit.
   */
  withSeen(decisions: Decisions): Decisions {
    const missing = [...this.seen].filter((link) => decisions.networks?.has(link) !== true);
    return missing.reduce((all, link) => withNetwork(all, link, UNSET_NETWORK), decisions);
  }

  /** After a restore: those that were there before it are not new. */
  async restored(): Promise<void> {
    const { current } = this.deps.assignments;
    const meshes = (this.lans ?? []).filter((lan) => isNewMesh(lan, current));
    if (areNewOpen(current) && current.networks === null && meshes.length === 0) return;
    await this.deps.assignments.change((before) => this.withNew(meshes, this.withSeen(before)));
  }

  /** As the kill switch has it. */
  private withNew(fresh: readonly Lan[], decisions: Decisions): Decisions {
    const exit = asOrder([{ to: "blocked" }]);
    return fresh.reduce((all, lan) => {
      const page = hasPageAtFirst(lan, this.closableIn(decisions), this.lans ?? []);
      return withNetwork(all, lan.interface, { ...UNSET_NETWORK, exit, page });
    }, decisions);
  }

  private closableIn(decisions: Decisions) {
    return [...(decisions.networks ?? [])].map(([link, { page }]) => ({
      ...{ interface: link, page, mesh: this.deps.meshes.includes(link) },
      exit: networkOrderIn(decisions, link),
    }));
  }

  /** Null if each is known: nothing was kept before, so those that are there now are the first. */
  private knownIn({ networks }: Decisions, isFirst: boolean): ReadonlySet<string> | null {
    const before = isFirst && networks === null ? this.deps.lanBefore : [];
    for (const link of before) this.seen.add(link);
    if (networks === null && this.seen.size === 0) return null;
    return new Set([...(networks?.keys() ?? []), ...this.seen]);
  }

  private get links(): string[] {
    return (this.lans ?? []).map((lan) => lan.interface);
  }

  private isPresent(link: string): boolean {
    return this.links.includes(link);
  }

  private changed(record: NetworkRecord, given: LanNetworkChange): NetworkRecord {
    const exit = (texts: string | readonly string[]) => this.deps.choices.networkExit(texts);
    const changes = NETWORK_KEYS.flatMap((key) =>
      given[key] === undefined ? [] : [[key, NETWORK_FIELDS[key].parse(given[key] as never, exit)] as const],
    );
    return { ...record, ...Object.fromEntries(changes) };
  }

  /** Nobody locks the whole home out. */
  private assertPage({ networks }: Decisions): void {
    if (!this.links.some((link) => networks?.get(link)?.page !== false)) throw refused("page_last");
  }

  /** Null while it is not there. */
  private prefixesOf(link: string): string[] | null {
    const lan = this.lans?.find((each) => each.interface === link);
    return lan?.prefixes.filter((prefix) => !isLinkLocal(addressOf(prefix))) ?? null;
  }

  private rowOf(link: string): LanNetwork {
    const { assignments, inForce, roster, limits } = this.deps;
    const { current } = assignments;
    const record = current.networks?.get(link) ?? UNSET_NETWORK;
    const id = networkIdOf(link);
    const quota = limits.quotaOf(id);
    const mayReach = (other: string) => current.networks?.get(other)?.others === true;
    return networkAnswer({
      ...{ interface: link, mesh: this.deps.meshes.includes(link), record },
      exit: inForce.of(orderOfNetwork(current, link)),
      isScheduled: current.exit.scheduled.has(id),
      rate: limits.of(id),
      quota: quota && usedQuotaIn(quota),
      prefixes: this.prefixesOf(link),
      devices: roster.ids.filter((id) => roster.linkOf(id) === link).length,
      reaches: record.others ? this.links.filter((other) => other !== link && mayReach(other)) : [],
    });
  }
}

function isNewMesh({ interface: link, mesh }: Lan, { networks }: Decisions): boolean {
  return mesh === true && networks?.has(link) !== true;
}

/** What all of its devices have together, as a client gives it. */
function togetherIn({ rate, quota }: LanNetworkChange): Partial<DeviceRecord> {
  return {
    ...(rate !== undefined && { rate: rateIn(true, rate) }),
    ...(quota !== undefined && { quota: quotaIn(true, quota) }),
  };
}

function withNetwork(decisions: Decisions, link: string, record: NetworkRecord): Decisions {
  if (Bun.deepEquals(decisions.networks?.get(link), record)) return decisions;
  return { ...decisions, networks: new Map([...(decisions.networks ?? []), [link, record]]) };
}
