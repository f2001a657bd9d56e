import type { ElementChange, Host } from "../system/host.ts";
import {
  type Chains,
  chainsEchoed,
  chainsListed,
  elementChanges,
  elementsAhead,
  finalRulesStand,
  sameChains,
  sameMeaning,
  sameShape,
  setsApart,
} from "./listing.ts";
import type { OwnChanges } from "./own-changes.ts";
import { loadTable } from "./table.ts";
import { isServerSet } from "./wireguard-servers.ts";

/** The table as it was given, and as nft spells it. */
interface Loaded {
  ruleset: string;
  chains: Chains;
}

/** What a load tells before its end. */
export interface Progress {
  onServers?: (() => void) | undefined;
  onCommitted?: (() => void) | undefined;
}

/** Loads the firewall's table, and knows what the kernel has since then unless another program has altered it. */
export class LoadedTable {
  /** Null if that is unknown; cleared before any change. */
  private loaded: Loaded | null = null;
  /** Whether a listing was seen that spells what was loaded. */
  private compared = false;

  constructor(
    private readonly host: Host,
    private readonly ownChanges: OwnChanges,
    /** Called when a listing is needed, which `learnSpelling` is to get. */
    private readonly onUncompared: () => void,
  ) {}

  /** What was loaded last; null if it is unknown what the kernel has. */
  get ruleset(): string | null {
    return this.loaded?.ruleset ?? null;
  }

  /** The next load replaces the whole table. */
  forget(): void {
    this.loaded = null;
  }

  /**
   * Replaces the firewall's table in one transaction, unless only elements of sets differ. `onServers` may be called as
   * soon as the kernel permits the servers of the new table, and `onCommitted` before it is known how nft spells it.
   */
  async load(ruleset: string, { onServers, onCommitted }: Progress = {}): Promise<void> {
    if (this.loaded !== null && (await this.changeElements(ruleset, this.loaded))) return;
    const former = this.loaded?.ruleset;
    this.loaded = null;
    const ahead =
      onServers === undefined || former === undefined ? null : await this.permitServers(former, ruleset);
    if (ahead !== null) onServers?.();
    const given = chainsListed(ruleset);
    const loading = this.ownChanges.make(() => loadTable(this.host, ruleset, onCommitted), given.size === 0);
    const echoed = chainsEchoed(
      await loading.catch(async (error: unknown) => {
        await this.takeBack(ahead ?? []);
        throw error;
      }),
    );
    const whole = sameShape(echoed, given);
    // If the echo is incomplete, the expected spelling comes from a listing.
    this.loaded = { ruleset, chains: whole ? echoed : given };
    this.compared &&= whole;
    // Done at once: a change by another program must not be taken for the spelling.
    if (!this.compared) this.onUncompared();
  }

  /** Whether a listing of the table is what was loaded; true if that is unknown. */
  isAsLoaded(listing: string | null): boolean {
    if (this.loaded === null) return true;
    const { chains } = this.loaded;
    return listing === null ? chains.size === 0 : sameChains(chainsListed(listing), chains);
  }

  /**
   * Takes the spelling of the first listing after a load if it has the same meaning. If nft echoes rules in another
   * spelling, repairs must not continue for ever. Another program, or an `nft` that a killed service has left, may have
   * changed the table.
   */
  learnSpelling(listing: string | null): void {
    if (this.compared || this.loaded === null) return;
    this.compared = true;
    if (listing === null || this.isAsLoaded(listing)) return;
    const listed = chainsListed(listing);
    const as = finalRulesStand(listing) === finalRulesStand(this.loaded.ruleset);
    if (as && sameMeaning(listed, this.loaded.chains)) this.loaded = { ...this.loaded, chains: listed };
  }

  /**
   * Lets the former table permit the servers of the next one, too: to start `nft` and to load a table takes longer than a
   * packet to a server that is near. Returns what was added; null if the servers have to wait for the whole table.
   */
  private async permitServers(former: string, ruleset: string): Promise<ElementChange[] | null> {
    const servers = elementsAhead(former, ruleset, isServerSet);
    if (servers === null || servers.length === 0) return servers;
    // Another program may have altered the sets.
    return this.ownChanges
      .make(() => this.host.changeElements(servers))
      .then(
        () => servers,
        () => null,
      );
  }

  private async takeBack(added: readonly ElementChange[]): Promise<void> {
    if (added.length === 0) return;
    const changes = added.map((change) => ({ ...change, verb: "delete" as const }));
    await this.ownChanges.make(() => this.host.changeElements(changes)).catch(() => {});
  }

  /**
   * Whether only elements of sets differ, if anything, and the kernel has accepted them. A device may wait for that: for
   * its exit, or for the addresses of the name that it has asked for.
   */
  private async changeElements(ruleset: string, loaded: Loaded): Promise<boolean> {
    if (ruleset === loaded.ruleset) return true;
    const apart = setsApart(loaded.ruleset, ruleset);
    const changes = elementChanges(loaded.ruleset, ruleset, apart);
    if (changes === null) return false;
    this.loaded = null;
    try {
      if (changes.length > 0) await this.ownChanges.make(() => this.host.changeElements(changes));
    } catch {
      // Another program has altered the sets, or the change took too long: the whole table is loaded.
      return false;
    }
    this.loaded = { ruleset, chains: new Map([...loaded.chains, ...apart[1]]) };
    return true;
  }
}
