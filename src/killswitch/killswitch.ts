import { GatewayError, messageOf } from "../errors.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { Queue } from "../queue.ts";
import type { Host } from "../system/host.ts";
import {
  type Chains,
  chainsEchoed,
  chainsListed,
  finalRulesStand,
  sameChains,
  sameShape,
} from "./listing.ts";
import { Notice } from "./notice.ts";
import { mergedPolicy, type PolicyPart } from "./policy.ts";
import type { Alarm, Damage, Repairs } from "./repairs.ts";
import { type Inspection, inspect } from "./report.ts";
import {
  applyRules,
  exceptionRules,
  OWN_NUMBERS,
  type Rule,
  readAllRules,
  ruleDifferences,
  rulesFor,
  rulesOn,
  withoutBarrier,
} from "./routing-rules.ts";
import { openRulesetOf, rulesetOf } from "./ruleset.ts";
import { listTable, loadTable } from "./table.ts";

interface Wanted {
  ruleset: string;
  rules: readonly Rule[];
}

/** The kernel tells of a change within 4 ms; on a busy Pi later. */
const TOLD_WITHIN_MS = 1_000;

/** Before the first look at the machine. */
const NO_NETWORK: HostNetwork = {
  lans: [],
  uplink: null,
  uplinkAddresses: [],
  addresses: [],
  uplinkPrefixes: [],
  uplinkMtu: 1500,
  ipv6: "on",
  online: false,
  remarks: [],
};

/**
 * The kill switch in the kernel: the firewall's table and the routing rules. It is the only writer of both: each
 * owner says what it needs, and the kernel gets the needs of all. It checks what it has loaded, and repairs it.
 * Changes and repairs take turns, so that a repair never brings back a former state.
 */
export class KillSwitch {
  /** Why the kernel does not have what was set last, or null. */
  fault: string | null = null;
  /** A routing rule of another program's that comes before ours: then the firewall blocks alone. */
  readonly foreignRule: Notice;
  private own: HostNetwork | null = null;
  private readonly parts = new Map<string, PolicyPart>();
  private wanted: Wanted | null = null;
  /** What the kernel has as far as we know; forgotten before anything is changed. */
  private loaded: { ruleset: string; chains: Chains } | null = null;
  private ruled: readonly Rule[] | null = null;
  /** Whether the echo was seen to be spelled like the listing. */
  private compared = false;
  /** Changes of ours to the table that the kernel has yet to tell of. */
  private readonly untold = new Set<symbol>();
  private readonly queue = new Queue();

  constructor(
    private readonly host: Host,
    /** Whether the operator wants the kill switch; without it only what a tunnel needs is loaded. */
    private readonly isOn: () => boolean,
    private readonly repairs: Repairs,
    private readonly alarm: Alarm,
  ) {
    this.foreignRule = new Notice(alarm, {
      begins: "foreign_rule",
      ends: "foreign_rule_gone",
      over: "No other program's routing rule comes before the kill switch's any longer.",
    });
  }

  /** The machine's own network, as both layers know it. */
  get network(): HostNetwork {
    return this.own ?? NO_NETWORK;
  }

  /**
   * Replaces what one owner needs, or withdraws it; the parts of other owners stay. What already stands is not written
   * again. Nothing is loaded before `updateNetwork`: at a start all live tunnels are known before the first load.
   */
  async update(owner: string, part: PolicyPart | null): Promise<void> {
    if (part === null) this.parts.delete(owner);
    else this.parts.set(owner, part);
    if (this.own !== null) await this.load(this.own);
  }

  /** The machine's own network is known, or has changed. */
  async updateNetwork(network: HostNetwork): Promise<void> {
    this.own = network;
    await this.load(network);
  }

  /** Looks at the kernel, and puts back what someone else has changed. */
  mend(): Promise<void> {
    return this.queue.add(() => this.putBack());
  }

  /** Whether a change to the table that the kernel tells of is ours; each of ours is told once. */
  isOwnChange(): boolean {
    for (const token of this.untold) return this.untold.delete(token);
    return false;
  }

  private readonly mendLater = () => void this.mend().catch(() => {});

  /** Whether the kernel has the firewall that blocks, unaltered. Where it has not, that is mended before long. */
  async stands(): Promise<boolean> {
    // In turn: a table that is replaced while it is read is no stranger's doing.
    const [listing, asLoaded] = await this.queue.add(async () => {
      const found = await listTable(this.host);
      return [found, this.isAsLoaded(found)] as const;
    });
    if (!asLoaded) this.mendLater();
    return asLoaded && listing !== null && finalRulesStand(listing);
  }

  /** Whether a listing of the table is what was loaded; true where nothing is known of it. */
  private isAsLoaded(listing: string | null): boolean {
    if (this.loaded === null) return true;
    const { chains } = this.loaded;
    return listing === null ? chains.size === 0 : sameChains(chainsListed(listing), chains);
  }

  /** Each part as the kernel has it; in turn, for what is under way is no damage. */
  inspection(fault: string | null): Promise<Inspection> {
    return this.queue.add(() =>
      inspect(this.host, {
        network: this.network,
        rules: this.wanted?.rules ?? [],
        isAsLoaded: (listing) => this.isAsLoaded(listing),
        fault,
      }),
    );
  }

  private load(network: HostNetwork): Promise<void> {
    this.wanted = this.wantedOn(network);
    // By then another owner may have said what it needs: one load does for both.
    return this.queue.add(() => this.apply());
  }

  private wantedOn(network: HostNetwork): Wanted {
    const policy = mergedPolicy(this.parts, network);
    const rules = [...rulesFor(network), ...rulesOn(network.ipv6, exceptionRules(policy))];
    if (this.isOn()) return { ruleset: rulesetOf(policy), rules };
    return {
      ruleset: openRulesetOf(policy),
      rules: policy.endpoints.length === 0 ? [] : withoutBarrier(rules),
    };
  }

  private async apply(): Promise<void> {
    if (this.wanted === null) return;
    const { ruleset, rules } = this.wanted;
    try {
      const outcomes = await Promise.allSettled([this.loadTable(ruleset), this.loadRules(rules)]);
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
      if (this.fault !== null) this.alarm("protection_restored", "The kill switch is as it must be again.");
      this.fault = null;
    } catch (error) {
      const first = this.fault === null;
      this.fault = messageOf(error);
      if (first) this.alarm("protection_failed", `${whatFailed(error)}: ${this.fault}`);
      throw error;
    }
  }

  /** Replaces the firewall's table in one transaction. */
  private async loadTable(ruleset: string): Promise<void> {
    if (ruleset === this.loaded?.ruleset) return;
    this.loaded = null;
    const echoed = chainsEchoed(await this.announced(() => loadTable(this.host, ruleset)));
    const given = chainsListed(ruleset);
    const whole = sameShape(echoed, given);
    // What was not echoed is not taken for loaded: then a listing must say how nft spells what it was given.
    this.loaded = { ruleset, chains: whole ? echoed : given };
    if (!this.compared || !whole) await this.assertComparable();
    this.compared = true;
  }

  /** The kernel will tell of this change, and it is no stranger's. */
  private async announced<T>(change: () => Promise<T>): Promise<T> {
    const token = Symbol();
    this.untold.add(token);
    try {
      const result = await change();
      void this.host.sleep(TOLD_WITHIN_MS).then(() => this.untold.delete(token));
      return result;
    } catch (error) {
      this.untold.delete(token);
      throw error;
    }
  }

  private async loadRules(rules: readonly Rule[]): Promise<void> {
    if (Bun.deepEquals(rules, this.ruled)) return;
    this.ruled = null;
    await applyRules(this.host, rules);
    this.ruled = rules;
  }

  private async putBack(): Promise<void> {
    if (this.wanted === null) return;
    const damages = await this.damages();
    if (damages.length === 0 && this.fault === null) return;
    const work = async () => {
      this.loaded = null;
      this.ruled = null;
      await this.apply();
      await this.assertComparable();
    };
    await this.repairs.repair(damages, work, this.mendLater);
  }

  /** Between what the kernel was given and what it has; what is wanted by now may still wait for its turn. */
  private async damages(): Promise<Damage[]> {
    const [listing, { ours, ahead }] = await Promise.all([listTable(this.host), readAllRules(this.host)]);
    this.foreignRule.set(this.wanted?.rules.length === 0 ? null : bypassIn(ahead));
    const damages: Damage[] = [];
    if (!this.isAsLoaded(listing)) {
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

  /** An nft that echoes rules in another spelling than it lists them must not make us repair for ever. */
  private async assertComparable(): Promise<void> {
    const listing = await listTable(this.host);
    if (listing === null || this.loaded === null || this.isAsLoaded(listing)) return;
    const listed = chainsListed(listing);
    const as = finalRulesStand(listing) === finalRulesStand(this.loaded.ruleset);
    if (as && sameShape(listed, this.loaded.chains)) this.loaded = { ...this.loaded, chains: listed };
  }
}

/** What rules ahead of ours come to, and how to end it; null where there is none. */
function bypassIn(ahead: readonly Rule[]): string | null {
  if (ahead.length === 0) return null;
  const rules = ahead.map(({ priority, text }) => `${priority} ${text}`).join(", ");
  const commands = ahead.map(
    ({ family, priority }) => `ip ${family === 6 ? "-6 " : ""}rule del priority ${priority}`,
  );
  return `Another program's routing rule comes before the kill switch's, and the firewall blocks alone: ${rules}; remove it: ${commands.join("; ")}`;
}

/** Of a command that was killed nobody knows how far it got. */
function whatFailed(error: unknown): string {
  const late = error instanceof GatewayError && error.code === "timed_out";
  return late
    ? "The kernel may not have a part of the kill switch"
    : "The kernel refused a part of the kill switch";
}
