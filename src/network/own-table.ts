import type { Host } from "../system/host.ts";

/**
 * A table of the gateway's own beside that of the kill switch. Another program may remove it, alter it or switch it off
 * (`flags dormant`), which its rules do not show. What its sets and counters contain is not compared.
 */
export class OwnTable {
  /** How the kernel has listed what was loaded last; undefined if that is unknown, null without the table. */
  private listing: string | null | undefined;

  constructor(
    private readonly host: Pick<Host, "run">,
    /** Family and name. */
    private readonly name: string,
  ) {}

  /** Loads a text that keeps what the sets contain if it can be kept. */
  async load(text: string): Promise<void> {
    this.listing = undefined;
    // The table may have sets of another version, or of another program.
    await this.run(text).catch(() => this.run(this.replacedBy(text)));
    this.listing = await this.list();
  }

  /** Loads the text with empty sets. */
  async replace(text: string): Promise<void> {
    this.listing = undefined;
    await this.run(this.replacedBy(text));
    this.listing = await this.list();
  }

  /** Whether the kernel has it as it was loaded. */
  async isWhole(): Promise<boolean> {
    return (await this.list()) === this.listing;
  }

  /** Makes it again as it was loaded, but for elements of sets. */
  async mend(text: string): Promise<void> {
    const { listing } = this;
    await this.load(text);
    // What another program has added is still there.
    if (this.listing !== listing) await this.replace(text);
  }

  private replacedBy(text: string): string {
    return `add table ${this.name}\ndelete table ${this.name}\n${text}`;
  }

  private run(stdin: string): Promise<string> {
    return this.host.run(["nft", "-f", "-"], { stdin });
  }

  private list(): Promise<string | null> {
    return this.host
      .run(["nft", "-s", "-t", "-n", "list", "table", ...this.name.split(" ")])
      .catch(() => null);
  }
}
