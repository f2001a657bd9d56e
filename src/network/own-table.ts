import { GatewayError } from "../base/errors.ts";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { Host } from "../system/host.ts";
import { BOUNDS_TABLE } from "./bounds-table.ts";
import { COUNTERS_TABLE } from "./counters.ts";
import { LIMITS_TABLE } from "./limits-table.ts";
import { refused } from "./refusals.ts";

/** The tables beside those of the kill switch: family and name. */
export const OWN_TABLES: readonly string[] = [COUNTERS_TABLE, BOUNDS_TABLE, LIMITS_TABLE];

/** How something is loaded into the kernel, and how the kernel lists it. */
interface Loading<Wanted> {
  /** In a sentence: `the table inet portcullis_traffic`. */
  name: string;
  /** The beginning of the log's sentence while it cannot be loaded. */
  fault: string;
  /**
   * Makes what the kernel has into what is wanted, without losing what it has counted; false if that is not possible.
   * `former` is null if it is unknown what the kernel has.
   */
  change?(wanted: Wanted, former: Wanted | null): Promise<boolean>;
  /** Loads it, whatever the kernel has. */
  replace(wanted: Wanted): Promise<unknown>;
  /** As the kernel has it, without what packets change; null without it. */
  list(): Promise<string | null>;
  /** Whether what is listed so is switched on, and is no less than what is wanted. */
  isWhole(listing: string | null, wanted: Wanted): boolean;
}

/**
 * Something that the gateway keeps in the kernel beside the tables of the kill switch. Another program may remove it,
 * alter it or switch it off (`flags dormant`): the kernel then lists it otherwise than after it was loaded.
 */
export class OwnTable<Wanted> {
  /** What was loaded last, and how the kernel listed it; null if it is unknown what the kernel has. */
  private loaded: { wanted: Wanted; listing: string | null } | null = null;
  private isTold = false;
  private isUnlistedTold = false;
  private readonly fault: Fault;

  constructor(
    private readonly log: Pick<Log, "warn">,
    private readonly loading: Loading<Wanted>,
  ) {
    this.fault = new Fault(loading.fault);
  }

  /** What the kernel has, unless another program has changed it; null if that is unknown. */
  get current(): Wanted | null {
    return this.loaded?.wanted ?? null;
  }

  /** `former` is what the kernel has, or null. Throws if the kernel refuses it. */
  async load(wanted: Wanted, former = this.current): Promise<void> {
    this.loaded = null;
    // The table may have sets of another version, or of another program.
    const isChanged = await this.loading.change?.(wanted, former).catch(() => false);
    if (!isChanged || !(await this.learn(wanted))) await this.replace(wanted);
  }

  /** Loads it without what the kernel has counted. */
  async replace(wanted: Wanted): Promise<void> {
    this.loaded = null;
    await this.loading.replace(wanted);
    if (!(await this.learn(wanted))) throw refused("table_not_listed", { table: this.loading.name });
  }

  /** To be called when another program may have changed it: makes it again as it was. Never throws. */
  async check(wanted: Wanted): Promise<void> {
    const { loaded } = this;
    await this.attempt(async () => {
      if (loaded !== null && (await this.loading.list()) === loaded.listing) return;
      if (loaded !== null) this.tell();
      await this.load(wanted, null);
      // What another program has added is still there.
      if (loaded !== null && this.loaded?.listing !== loaded.listing) await this.replace(wanted);
    });
  }

  /** Does work that needs it, or loads it. A failure is logged once, as long as it lasts. */
  attempt(work: () => Promise<unknown>): Promise<void> {
    return this.fault.attemptAsync(this.log, async () => {
      await work().catch((error: unknown) => {
        // A program that alters the table in a loop hits some moments between a load and its listing: no news.
        if (!isNotListed(error)) throw error;
        if (this.isUnlistedTold) return;
        this.isUnlistedTold = true;
        throw error;
      });
    });
  }

  /** Whether the kernel has it, whichever process has loaded it. */
  async isThere(wanted: Wanted): Promise<boolean> {
    return this.loading.isWhole(await this.loading.list(), wanted);
  }

  /** Whether it is whole: a change by another program at this very moment must not be taken for what was loaded. */
  private async learn(wanted: Wanted): Promise<boolean> {
    const listing = await this.loading.list();
    const isWhole = this.loading.isWhole(listing, wanted);
    if (isWhole) this.loaded = { wanted, listing };
    return isWhole;
  }

  private tell(): void {
    if (!this.isTold)
      this.log.warn(`another program has altered ${this.loading.name}, which is loaded again each time`);
    this.isTold = true;
  }
}

function isNotListed(error: unknown): boolean {
  return error instanceof GatewayError && error.args?.what === "table_not_listed";
}

/** The options of a listing without counters, without elements of sets, and without names for numbers. */
const TERSE = ["-s", "-t", "-n"];

/** A table whose text, loaded again, keeps what its sets contain. */
export function nftTable<Wanted>(
  host: Pick<Host, "run">,
  table: string,
  textOf: (wanted: Wanted) => string,
  options: readonly string[] = TERSE,
): Omit<Loading<Wanted>, "fault"> {
  const run = (stdin: string) => host.run(["nft", "-f", "-"], { stdin });
  return {
    name: `the table ${table}`,
    change: async (wanted) => {
      await run(textOf(wanted));
      return true;
    },
    replace: (wanted) => run(`add table ${table}\ndelete table ${table}\n${textOf(wanted)}`),
    list: () => host.run(["nft", ...options, "list", "table", ...table.split(" ")]).catch(() => null),
    isWhole: (listing, wanted) => hasRules(listing, rulesByChain(textOf(wanted))),
  };
}

/**
 * Whether a listing is of a table that is switched on, has so many rules by chain, and has no chain of another program that
 * packets pass; null for no table.
 */
export function hasRules(listing: string | null, wanted: ReadonlyMap<string, number> | null): boolean {
  if (listing === null || wanted === null) return listing === wanted;
  if (/^\s*flags\b.*\bdormant\b/m.test(listing)) return false;
  const hooked = [...listing.matchAll(/^\s*chain (\S+) \{\s*type /gm)];
  if (hooked.some(([, chain = ""]) => !wanted.has(chain))) return false;
  const listed = rulesByChain(listing);
  return wanted.entries().every(([chain, rules]) => (listed.get(chain) ?? -1) >= rules);
}

/** nft prints each rule as one line, as the gateway's texts do. The line of a hook counts too. */
function rulesByChain(table: string): Map<string, number> {
  const rules = new Map<string, number>();
  let chain: string | null = null;
  for (const line of table.split("\n").map((each) => each.trim())) {
    if (line.startsWith("chain ")) chain = line.slice("chain ".length, -" {".length);
    else if (line === "}") chain = null;
    if (chain !== null && line !== "") rules.set(chain, (rules.get(chain) ?? -1) + 1);
  }
  return rules;
}
