import { Decision, type Effect } from "../base/decision.ts";
import type { NetworkPart } from "../killswitch/network-part.ts";
import type {
  AssignedDevice,
  DecidedPrefix,
  DefaultExit,
  DeviceAt,
  Exit,
  PolicyPart,
} from "../killswitch/policy.ts";
import { withDirect } from "./direct.ts";
import { formatExit } from "./exit.ts";
import { type ExitOrder, formatOrder } from "./exit-order.ts";
import type { ExitsInForce } from "./exits-in-force.ts";
import type { FixedAddresses } from "./fixed.ts";
import { type DeviceId, EVERYBODY_ELSE, isPrefixId, type LimitId } from "./id.ts";
import type { Limits } from "./limits.ts";
import { MAX_NETWORKS, UNSET_NETWORK } from "./network-record.ts";
import {
  type Decisions,
  type DeviceRecord,
  type DeviceStorage,
  decisionsIn,
  effectOn,
  FIELD_KEYS,
  FIELDS,
  idsIn,
  idsOn,
  linksIn,
  networkOrderIn,
  networksEffect,
  networksOn,
  orderOf,
  recordOf,
  saveDecisions,
  undoneIn,
} from "./record.ts";
import { refused } from "./refusals.ts";
import { titlesOf } from "./title.ts";

interface Deps {
  store: DeviceStorage;
  killSwitch: { update(owner: string, part: PolicyPart): Promise<void> };
  inForce: Pick<ExitsInForce, "of" | "keep">;
  fixed: Pick<FixedAddresses, "apply">;
  limits: Pick<Limits, "apply" | "take">;
  deviceAt: DeviceAt;
  /** The interface by which a device was seen last; null if it was not. */
  linkOf: (id: DeviceId) => string | null;
  /** The meshes that root has named. */
  meshes?: readonly string[];
  /** Whether it is a remote device: those have a limit of their own. */
  isRemote: (id: DeviceId) => boolean;
  /** Gets the decisions before and after each change that is in force. */
  onChange: (before: Decisions, after: Decisions) => void;
  /** The same as soon as the kill switch has the exits, which a limit that is refused may take back. */
  onExits: (before: Decisions, after: Decisions) => void;
}

/** Something else that must not change either. */
export interface Beside {
  /** Runs a turn while it cannot. */
  around: <Done>(turn: () => Promise<Done>) => Promise<Done>;
  /** Whether it has read what another writer has written. */
  isRead: () => boolean;
}

/** Anyone on the LAN may assign devices, so the disk and the kernel's memory are limited. */
export const MAX_ASSIGNED = 1_000;
/** Each one needs some rules in the firewall and in routing, which every packet passes. */
export const MAX_PREFIXES = 32;

/** The owner of the exits in the kill switch; never a tunnel's name. */
const OWNER = "DEVICES";

/** What is decided about devices: in the database, in the kill switch, in the table of limits, and at the DHCP server. */
export class Assignments {
  readonly decision: Decision<Decisions>;
  /** What the kill switch has been given of the decisions. */
  private decided: Decisions;
  /** Whether the kill switch has a permission for `direct`: as long as it may refuse one, that permits nothing. */
  private isPermitted: boolean;

  constructor(private readonly deps: Deps) {
    const { store, fixed, limits } = deps;
    this.decision = new Decision({
      store,
      read: () => decisionsIn(store),
      write: (stored, decisions) => saveDecisions(store, stored, decisions),
      parts: [
        {
          of: (decisions) => [this.partOf(decisions), decisions.directAllowed],
          apply: (decisions) => this.decide(decisions),
          effect: exitsEffect,
        },
        {
          of: ({ address }) => address,
          apply: ({ address }) => fixed.apply(address.own),
          effect: () => "neither",
          isSlow: true,
        },
        {
          of: ({ rate, quota }) => [rate, quota],
          apply: ({ rate, quota }) => limits.apply(rate, quota),
          effect: (before, after) => effectOn(["rate", "quota"], before, after),
          isSlow: true,
        },
      ],
      undo: without,
      changed: deps.onChange,
    });
    this.decided = this.current;
    this.isPermitted = this.current.directAllowed;
    limits.take(this.current.rate, this.current.quota);
  }

  get current(): Decisions {
    return this.decision.value;
  }

  /** As the kill switch has it: a change of the present decisions may still be refused. */
  get inKernel(): Decisions {
    return this.decided;
  }

  get directAllowed(): boolean {
    return this.isPermitted && this.current.directAllowed;
  }

  of(id: LimitId): DeviceRecord {
    return recordOf(this.current, id);
  }

  /** The exit in force. */
  exitOf(id: DeviceId): Exit {
    const link = this.current.networks === null ? null : this.deps.linkOf(id);
    return this.deps.inForce.of(orderOf(this.current, id, link));
  }

  /** The devices that have one of these. */
  idsWith(orders: readonly ExitOrder[]): DeviceId[] {
    const texts = new Set(orders.map(formatOrder));
    return idsIn(this.current).filter((id) => texts.has(formatOrder(orderOf(this.current, id))));
  }

  /** The name that a person has given the network of this interface, or null. */
  networkName(link: string | null): string | null {
    return (link === null ? null : this.current.networks?.get(link)?.name) ?? null;
  }

  /** The networks that have one of these by themselves. */
  networksWith(orders: readonly ExitOrder[]): string[] {
    const texts = new Set(orders.map(formatOrder));
    return linksIn(this.current).filter((link) => {
      const order = networkOrderIn(this.current, link);
      return order !== null && texts.has(formatOrder(order));
    });
  }

  /** Gives the kill switch the exits that are in force now. A change that is under way does the same. */
  move(): void {
    // The kill switch tells of a failure, and keeps trying.
    void this.block(this.current).catch(() => {});
  }

  /** Puts the decisions in force, after the start or after another writer has changed the database. */
  reload(): Promise<void> {
    return this.decision.reload().finally(() => {
      // The kill switch keeps trying what it could not load.
      this.told(this.current);
      this.keepOrders();
    });
  }

  change(edit: (decisions: Decisions) => Decisions): Promise<void> {
    return this.decision
      .change((before) => this.bounded(before, edit(before)))
      .finally(() => this.keepOrders());
  }

  /** Gives the kernel the permission for `direct` again if it has refused a change of it, and then what was before. */
  async permit(): Promise<void> {
    if (this.current.directAllowed && !this.isPermitted)
      await this.decision.between(() => this.decide(this.current));
  }

  /**
   * Runs the removal of a tunnel; throws if devices go through it. None can be given it meanwhile. `beside` is what else
   * may lead to it.
   */
  unlessUsed(tunnel: string, remove: () => Promise<void>, beside?: Beside): Promise<void> {
    return this.decision.between(
      () => {
        this.assertUnused(tunnel);
        return remove();
      },
      beside?.around,
      beside?.isRead,
    );
  }

  private assertUnused(tunnel: string): void {
    if (formatExit(defaultExitOf(this.current)) === tunnel) throw refused("exit_is_default", { tunnel });
    const [network] = networksOn(tunnel, this.current);
    if (network !== undefined) {
      const name = this.current.networks?.get(network)?.name ?? network;
      throw refused("exit_of_network", { tunnel, network: name });
    }
    const ids = idsOn(tunnel, this.current);
    if (ids.length > 0) throw refused("exit_in_use", { tunnel, devices: titlesOf(ids, this.current) });
  }

  private bounded(before: Decisions, after: Decisions): Decisions {
    const prefixes = (decisions: Decisions) =>
      idsIn(decisions).filter((id) => isPrefixId(id) && !this.deps.isRemote(id)).length;
    const [ids, formerIds] = [idsIn(after).length, idsIn(before).length];
    if (ids > MAX_ASSIGNED && ids > formerIds)
      throw refused("devices_full", { of: "devices", max: MAX_ASSIGNED });
    if (prefixes(after) > MAX_PREFIXES && prefixes(after) > prefixes(before))
      throw refused("devices_full", { of: "prefixes", max: MAX_PREFIXES });
    for (const key of FIELD_KEYS) {
      const max = FIELDS[key].stored?.list.max ?? Number.POSITIVE_INFINITY;
      if (after[key].own.size > max && after[key].own.size > before[key].own.size)
        throw refused("field_full", { field: key, max });
    }
    const networks = after.networks?.size ?? 0;
    if (networks > MAX_NETWORKS && networks > (before.networks?.size ?? 0))
      throw refused("networks_full", { max: MAX_NETWORKS });
    return after;
  }

  private async decide(decisions: Decisions): Promise<void> {
    // What was written in this turn goes to the disk while the firewall's text is made, which takes milliseconds.
    await null;
    // With what closes it ends at once; what opens may be refused.
    this.isPermitted &&= decisions.directAllowed;
    await this.block(decisions);
    this.told(decisions);
    this.isPermitted = decisions.directAllowed;
  }

  private told(decisions: Decisions): void {
    const before = this.decided;
    this.decided = decisions;
    this.deps.onExits(before, decisions);
  }

  private block(decisions: Decisions): Promise<void> {
    const { killSwitch, deviceAt } = this.deps;
    return killSwitch.update(OWNER, { ...this.partOf(decisions), deviceAt });
  }

  private keepOrders(): void {
    const ofNetworks = linksIn(this.current).flatMap((link) => {
      const order = networkOrderIn(this.current, link);
      return order === null ? [] : [order];
    });
    this.deps.inForce.keep([...idsIn(this.current).map((id) => orderOf(this.current, id)), ...ofNetworks]);
  }

  private networksIn(decisions: Decisions): NetworkPart[] | null {
    const links = linksIn(decisions);
    const { meshes = [] } = this.deps;
    if (decisions.networks === null && links.length === 0) return null;
    return links.map((link) => {
      const { page, others } = decisions.networks?.get(link) ?? UNSET_NETWORK;
      const order = networkOrderIn(decisions, link);
      return {
        ...{ interface: link, page, others, ...(meshes.includes(link) && { mesh: true }) },
        exit: order && (this.deps.inForce.of(order) as DefaultExit),
      };
    });
  }

  private partOf(decisions: Decisions): PolicyPart {
    const devices: AssignedDevice[] = [];
    const routed: DecidedPrefix[] = [];
    const { own, scheduled } = decisions.exit;
    for (const id of idsIn(decisions)) {
      const exit = own.has(id) || scheduled.has(id) ? this.deps.inForce.of(orderOf(decisions, id)) : null;
      if (isPrefixId(id)) routed.push({ prefix: id, exit });
      else if (exit !== null) devices.push({ id, exit });
    }
    const networks = this.networksIn(decisions);
    return { devices, routed, defaultExit: defaultExitOf(decisions), ...(networks && { networks }) };
  }
}

/** That of the devices without an exit of their own, on a network without one. */
export function defaultExitOf(decisions: Decisions): DefaultExit {
  return orderOf(decisions, EVERYBODY_ELSE)[0] as DefaultExit;
}

/** Nobody gets back what root has withdrawn since, nor keeps a permission that was refused. */
function without(decisions: Decisions, before: Decisions, after: Decisions): Decisions {
  const undone = undoneIn(decisions, before, after);
  const isAllowed = undone.directAllowed && (before.directAllowed || !after.directAllowed);
  return isAllowed ? undone : withDirect(undone, false);
}

/** Without the exit `direct`, less leaves outside the tunnel. */
export function exitsEffect(before: Decisions, after: Decisions): Effect {
  const effects = [effectOn(["exit"], before, after), networksEffect(before, after)];
  const effect =
    effects.find((each) => each === "loosens") ?? effects.find((each) => each === "tightens") ?? "neither";
  if (before.directAllowed === after.directAllowed || effect === "loosens") return effect;
  return after.directAllowed ? "loosens" : "tightens";
}
