import type { Prefix } from "../address.ts";
import { GatewayError, messageOf } from "../errors.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Lan } from "../network/lan.ts";
import { Queue } from "../queue.ts";
import type { Host } from "../system/host.ts";
import { Reading } from "../system/reading.ts";
import {
  type Chains,
  chainsEchoed,
  chainsListed,
  elementChanges,
  finalRulesStand,
  isSet,
  sameChains,
  sameShape,
} from "./listing.ts";
import { Notice } from "./notice.ts";
import { directDevices, mergedPolicy, type PolicyPart } from "./policy.ts";
import type { Alarm, Damage, Repairs } from "./repairs.ts";
import {
  allHold,
  directIn,
  type Found as FoundParts,
  type Inspection,
  inspectionOf,
  type Layers,
  layersOf,
  type Part,
  readSysctls,
  ruleParts,
  type SysctlParts,
  tableParts,
} from "./report.ts";
import { applyRoutes, interfacesTo, rivalOf, routesTo, type TableRoute } from "./routed.ts";
import {
  applyRules,
  directRules,
  exceptionRules,
  OWN_NUMBERS,
  type Rule,
  readAllRules,
  routedRules,
  ruleDifferences,
  rulesFor,
  rulesOn,
  type ShownRules,
  withoutBarrier,
} from "./routing-rules.ts";
import { isUsed, openRulesetOf, rulesetOf } from "./ruleset.ts";
import { changeElements, listTable, loadTable } from "./table.ts";

interface Wanted {
  ruleset: string;
  rules: readonly Rule[];
  /** To networks behind other routers of the LAN. */
  routes: readonly TableRoute[];
  /** The LAN with those networks. */
  lans: readonly Lan[];
}

/** What was read last, and what it says for people. */
interface Found {
  table: { listing: string | null; asLoaded: boolean; parts: readonly Part[] };
  rules: ShownRules & { parts: readonly Part[] };
}

/** For a monitor that has lost an event or hangs. */
const READING_EXPIRES_MS = 30_000;
/** The kernel reports no change of a sysctl; with `--netns` a program has to read each. */
const SYSCTLS_EXPIRE_MS = 1_000;
/** The kernel reports a change within 4 ms, later on a busy Pi. */
const REPORTED_WITHIN_MS = 1_000;

/** Until the machine's network has been read. */
const NO_NETWORK: HostNetwork = {
  lans: [],
  uplink: null,
  uplinkAddresses: [],
  addresses: [],
  uplinkPrefixes: [],
  routers: [],
  lanRoutes: [],
  uplinkMtu: 1500,
  ipv6: "on",
  resolvers: [],
  online: false,
  remarks: [],
};

/**
 * The kill switch in the kernel: the firewall's table and the routing rules. It is the only writer of both, and merges
 * what all owners need. It checks what it has loaded, and repairs it. Changes and repairs run one after another, so
 * that a repair never restores an earlier state.
 */
export class KillSwitch {
  /** Why the last change did not reach the kernel, or null. */
  fault: string | null = null;
  /** A routing rule of another program that comes before ours: then only the firewall blocks. */
  readonly foreignRule: Notice;
  /** The uplink if devices leave by it, outside the tunnel; null otherwise. */
  directUplink: string | null = null;
  /** Called when that changes. */
  onDirect: () => void = () => {};
  private own: HostNetwork | null = null;
  private readonly parts = new Map<string, PolicyPart>();
  private wanted: Wanted | null = null;
  /** What the kernel has, as far as is known, as it was given and as nft spells it; cleared before any change. */
  private loaded: { ruleset: string; given: Chains; chains: Chains } | null = null;
  private ruled: readonly Rule[] | null = null;
  /** The table has none before the first is needed, except those that an earlier process has left. */
  private routes: readonly TableRoute[] | null = [];
  /** Whether a listing was seen that spells what was loaded. */
  private compared = false;
  /** Our changes to the table that the kernel has not reported yet. */
  private readonly unreported = new Set<symbol>();
  /** What to call when the kernel reports the commit of one of our programs, by process id. */
  private readonly commits = new Map<number, () => void>();
  private readonly queue = new Queue();
  private readonly table: Reading<Found["table"]>;
  private readonly rules: Reading<Found["rules"]>;
  private readonly sysctls: Reading<SysctlParts>;
  /** Whether the kernel's changes are reported to `changed`. */
  private watched = false;

  constructor(
    private readonly host: Host,
    /** Whether the operator wants the kill switch. If not, only what a tunnel needs is loaded. */
    private readonly isOn: () => boolean,
    private readonly repairs: Repairs,
    private readonly alarm: Alarm,
  ) {
    this.foreignRule = new Notice(alarm, {
      begins: "foreign_rule",
      ends: "foreign_rule_gone",
      over: "No routing rule of another program comes before the kill switch's now.",
    });
    this.table = new Reading(host, READING_EXPIRES_MS);
    this.rules = new Reading(host, READING_EXPIRES_MS);
    this.sysctls = new Reading(host, SYSCTLS_EXPIRE_MS);
  }

  /** The machine's own network, which both layers are made for. */
  get network(): HostNetwork {
    return this.own ?? NO_NETWORK;
  }

  /** The LAN with the networks behind its routers. */
  get lans(): readonly Lan[] {
    return this.wanted?.lans ?? this.network.lans;
  }

  /** Where a network behind another router is: by which interfaces, and what else has its addresses. */
  wayTo(prefix: Prefix): { interfaces: string[]; rival: string | null } {
    const { endpoints } = mergedPolicy(this.parts, this.network);
    return {
      interfaces: interfacesTo(prefix, this.network),
      rival: rivalOf(prefix, this.network, endpoints),
    };
  }

  /**
   * Replaces or withdraws what one owner needs; the parts of other owners stay. What is already loaded is not written
   * again. Nothing is loaded before `updateNetwork`, so that all live tunnels are known before the first load.
   */
  async update(owner: string, part: PolicyPart | null): Promise<void> {
    if (part === null) this.parts.delete(owner);
    else this.parts.set(owner, part);
    if (this.own !== null) await this.load(this.own);
  }

  /** To be called when the machine's own network is first known, and when it changes. */
  async updateNetwork(network: HostNetwork): Promise<void> {
    this.own = network;
    await this.load(network);
  }

  /** Reads the kernel's state, and reverts what another program has changed. */
  mend(): Promise<void> {
    return this.queue.add(() => this.restore());
  }

  /**
   * Whether a change to the table that the kernel reports is ours; it reports each of ours once. If reports may have been
   * missed, ours may be among them, and the next report may be of another program's change.
   */
  isOwnChange(missed: boolean): boolean {
    if (missed || !this.watched) this.unreported.clear();
    for (const token of this.unreported) return this.unreported.delete(token);
    return false;
  }

  /** To be called when the kernel reports that a program has committed a change to a table. */
  committed(pid: number): void {
    this.commits.get(pid)?.();
  }

  /** To be called when the kernel reports a change of either layer, ours included: what was read before is not used again. */
  changed(): void {
    this.table.forget();
    this.rules.forget();
    this.sysctls.forget();
  }

  /** Whether every change is reported from now on. While it is not, each question reads the kernel again. */
  setWatched(watched: boolean): void {
    this.watched = watched;
    this.changed();
  }

  private readonly repairLater = () => void this.mend().catch(() => {});

  /** Whether the kernel has the blocking firewall, unaltered. If not, a repair is scheduled. */
  async stands(): Promise<boolean> {
    if (!this.watched) this.changed();
    return allHold((await this.tableFound()).parts);
  }

  /** Each part as the kernel has it. */
  async inspection(fault: string | null): Promise<Inspection> {
    return inspectionOf(await this.readParts(), fault);
  }

  /** The same, by layers, and how many devices may leave outside the tunnel. */
  async layers(): Promise<Layers & { direct: number }> {
    const found = await this.readParts();
    return { ...layersOf(found), direct: found.direct };
  }

  private async readParts(): Promise<FoundParts> {
    if (!this.watched) this.changed();
    const [table, rules, sysctls] = await Promise.all([
      this.tableFound(),
      this.rules.get(() => this.queue.addReading(() => this.readRules())),
      this.sysctls.get(() => readSysctls(this.host, this.network)),
    ]);
    return { table: table.parts, rules: rules.parts, sysctls, direct: directIn(table.listing) };
  }

  /** Reads in turn: otherwise our own replacement of the table would look like an alteration. */
  private tableFound(): Promise<Found["table"]> {
    return this.table.get(async () => {
      const found = await this.queue.addReading(() => this.readTable());
      if (!found.asLoaded) this.repairLater();
      return found;
    });
  }

  private async readTable(): Promise<Found["table"]> {
    const listing = await listTable(this.host);
    this.learnSpelling(listing);
    const asLoaded = this.isAsLoaded(listing);
    return { listing, asLoaded, parts: tableParts(listing, () => asLoaded) };
  }

  private async readRules(): Promise<Found["rules"]> {
    const shown = await readAllRules(this.host);
    // What is wanted may still wait for its turn.
    const rules = this.ruled ?? this.wanted?.rules ?? [];
    return { ...shown, parts: ruleParts(shown, { rules, network: this.network }) };
  }

  /** Whether a listing of the table is what was loaded; true if that is unknown. */
  private isAsLoaded(listing: string | null): boolean {
    if (this.loaded === null) return true;
    const { chains } = this.loaded;
    return listing === null ? chains.size === 0 : sameChains(chainsListed(listing), chains);
  }

  private async load(network: HostNetwork): Promise<void> {
    this.wanted = this.wantedOn(network);
    // What changes nothing waits for changes only, and not for readings.
    if (await this.queue.addReading(async () => this.isApplied())) return;
    // By then another owner may have changed its part: one load is enough for both.
    return this.queue.add(() => this.apply());
  }

  private isApplied(): boolean {
    return (
      this.fault === null &&
      this.wanted?.ruleset === this.loaded?.ruleset &&
      Bun.deepEquals([this.wanted?.rules, this.wanted?.routes], [this.ruled, this.routes])
    );
  }

  private wantedOn(network: HostNetwork): Wanted {
    const policy = mergedPolicy(this.parts, network);
    this.setDirect(directDevices(policy).length === 0 ? null : network.uplink);
    const further = [...routedRules(policy.routed), ...directRules(policy), ...exceptionRules(policy)];
    const rules = [...rulesFor(network), ...rulesOn(network.ipv6, further)];
    const { lans } = policy;
    const routes = routesTo(policy.routed, network);
    if (this.isOn()) return { ruleset: rulesetOf(policy), rules, routes, lans };
    return {
      lans,
      routes,
      ruleset: openRulesetOf(policy),
      rules: isUsed(policy) ? withoutBarrier(rules) : [],
    };
  }

  private setDirect(uplink: string | null): void {
    if (uplink === this.directUplink) return;
    this.directUplink = uplink;
    this.onDirect();
  }

  private async apply(): Promise<void> {
    if (this.wanted === null) return;
    const { ruleset, rules, routes } = this.wanted;
    try {
      await this.applyBoth(ruleset, rules);
      // Without them the networks behind routers are unreachable, and nothing else is wrong.
      await this.loadRoutes(routes);
      if (this.fault !== null) this.alarm("protection_restored", "The kill switch has been restored.");
      this.fault = null;
    } catch (error) {
      const first = this.fault === null;
      this.fault = messageOf(error);
      if (first) this.alarm("protection_failed", `${whatFailed(error)}: ${this.fault}`);
      throw error;
    } finally {
      this.changed();
    }
  }

  private async applyBoth(ruleset: string, rules: readonly Rule[]): Promise<void> {
    const table = this.loadTable(ruleset);
    // A version before may have left rules that route what is not marked, and a table that does not mark: only the new
    // table works with either.
    const ready = this.ruled === null ? table.catch(() => {}) : null;
    const outcomes = await Promise.allSettled([table, this.loadRules(rules, ready)]);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  /** Replaces the firewall's table in one transaction, unless only devices have moved. */
  private async loadTable(ruleset: string): Promise<void> {
    if (this.loaded !== null && (await this.moveDevices(ruleset, this.loaded))) return;
    this.loaded = null;
    const echoed = chainsEchoed(await this.asOwnChange(() => loadTable(this.host, ruleset)));
    const given = chainsListed(ruleset);
    const whole = sameShape(echoed, given);
    // If the echo is incomplete, the expected spelling comes from a listing.
    this.loaded = { ruleset, given, chains: whole ? echoed : given };
    this.compared &&= whole;
    // At once: an alteration of another program must not be taken for the spelling.
    if (!this.compared) void this.queue.addReading(() => this.readTable()).catch(() => {});
  }

  /** Whether at most elements of sets differ, and the kernel has taken these. */
  private async moveDevices(ruleset: string, loaded: NonNullable<typeof this.loaded>): Promise<boolean> {
    if (ruleset === loaded.ruleset) return true;
    const given = chainsListed(ruleset);
    const changes = elementChanges(loaded.given, given);
    if (changes === null) return false;
    this.loaded = null;
    try {
      if (changes.length > 0) await this.asOwnChange(() => this.changeElements(changes));
    } catch {
      // Another program has altered the sets, or nft was killed: the whole table is loaded.
      return false;
    }
    const sets = [...given].filter(([key]) => isSet(key));
    this.loaded = { ruleset, given, chains: new Map([...loaded.chains, ...sets]) };
    return true;
  }

  private async changeElements(changes: readonly string[]): Promise<void> {
    let own: number | null = null;
    const committed = (pid: number) => {
      own = pid;
      return new Promise<void>((resolve) => this.commits.set(pid, resolve));
    };
    try {
      await changeElements(this.host, changes, committed);
    } finally {
      if (own !== null) this.commits.delete(own);
    }
  }

  /** Marks the change as ours, so that the kernel's report of it is ignored. */
  private async asOwnChange<T>(change: () => Promise<T>): Promise<T> {
    const token = Symbol();
    this.unreported.add(token);
    try {
      const result = await change();
      void this.host.sleep(REPORTED_WITHIN_MS).then(() => this.unreported.delete(token));
      return result;
    } catch (error) {
      this.unreported.delete(token);
      throw error;
    }
  }

  private async loadRoutes(routes: readonly TableRoute[]): Promise<void> {
    if (Bun.deepEquals(routes, this.routes)) return;
    this.routes = (await applyRoutes(this.host, routes)) ? routes : null;
  }

  private async loadRules(rules: readonly Rule[], ready: Promise<unknown> | null): Promise<void> {
    if (Bun.deepEquals(rules, this.ruled)) return;
    this.ruled = null;
    await applyRules(this.host, rules, ready);
    this.ruled = rules;
  }

  private async restore(): Promise<void> {
    if (this.wanted === null) return;
    if (this.routes?.length !== 0) this.routes = null;
    await this.loadRoutes(this.wanted.routes);
    const damages = await this.damages();
    if (damages.length === 0 && this.fault === null) return;
    const work = async () => {
      this.loaded = null;
      this.ruled = null;
      await this.apply();
    };
    await this.repairs.repair(damages, work, this.repairLater);
  }

  /** Compares the kernel with what was loaded last; what is wanted may still wait for its turn. */
  private async damages(): Promise<Damage[]> {
    // Questions that come meanwhile share this look: they see the damage, instead of waiting for its repair.
    const [{ listing, asLoaded }, { ours, ahead }] = await Promise.all([
      this.table.renew(() => this.readTable()),
      this.rules.renew(() => this.readRules()),
    ]);
    this.foreignRule.set(this.wanted?.rules.length === 0 ? null : bypassIn(ahead));
    const damages: Damage[] = [];
    if (!asLoaded) {
      const what = listing === null ? "removed" : "altered";
      damages.push({ layer: "firewall", message: `Another program has ${what} the firewall's table.` });
    }
    if (this.ruled !== null && ruleDifferences(ours, this.ruled) > 0) {
      damages.push({
        layer: "routing",
        message: `Another program has changed the routing rules ${OWN_NUMBERS}.`,
      });
    }
    return damages;
  }

  /**
   * Takes the spelling of the first listing after a load: if nft echoes rules in another one, repairs must not go on for
   * ever.
   */
  private learnSpelling(listing: string | null): void {
    if (this.compared || this.loaded === null) return;
    this.compared = true;
    if (listing === null || this.isAsLoaded(listing)) return;
    const listed = chainsListed(listing);
    const as = finalRulesStand(listing) === finalRulesStand(this.loaded.ruleset);
    if (as && sameShape(listed, this.loaded.chains)) this.loaded = { ...this.loaded, chains: listed };
  }
}

/** The effect of rules before ours, and how to remove them; null without such rules. */
function bypassIn(ahead: readonly Rule[]): string | null {
  if (ahead.length === 0) return null;
  const rules = ahead.map(({ priority, text }) => `${priority} ${text}`).join(", ");
  const commands = ahead.map(
    ({ family, priority }) => `ip ${family === 6 ? "-6 " : ""}rule del priority ${priority}`,
  );
  // What else it has changed ends with it.
  const remedy = ahead.some(isFromWgQuick)
    ? "wg-quick down, with the name of its interface"
    : commands.join("; ");
  return `A routing rule of another program comes before the kill switch's, so only the firewall blocks: ${rules}; to remove it: ${remedy}`;
}

/** Its table has the number of the mark of its own packets. */
function isFromWgQuick({ text }: Rule): boolean {
  const [, mark, table] = /^not fwmark (\w+) lookup (\d+)$/.exec(text) ?? [];
  return mark !== undefined && Number(mark) === Number(table);
}

/** A command that was killed may have taken effect. */
function whatFailed(error: unknown): string {
  const late = error instanceof GatewayError && error.code === "timed_out";
  return late
    ? "A part of the kill switch may be missing from the kernel"
    : "The kernel refused a part of the kill switch";
}
