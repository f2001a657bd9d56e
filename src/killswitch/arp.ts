import { MAIN_SLOT, markOf } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { chain, setMark } from "./match.ts";
import type { OwnChanges } from "./own-changes.ts";

export const ARP_TABLE = "arp portcullis";

/**
 * Lets the uplink's neighbours find the gateway. The kernel answers an ARP request only if a route leads back to its
 * sender (net/ipv4/arp.c, `arp_process`, and `fib_validate_source`), but the routing rules have none for packets
 * without a mark. The mark makes this look-up use the machine's own routes. Packets cannot use it: the chain sees ARP
 * only.
 */
export function arpTextOf(uplink: string | null): string {
  const replace = `add table ${ARP_TABLE}\ndelete table ${ARP_TABLE}\n`;
  if (uplink === null) return replace;
  const rule = `iifname "${uplink}" ${setMark(markOf(MAIN_SLOT))} comment "the return path is the uplink"`;
  const input = chain("input", "type filter hook input priority filter; policy accept;", [rule]);
  return `${replace}table ${ARP_TABLE} {\n${input}}\n`;
}

/** Null without such a table. */
export function listArpTable(host: Host): Promise<string | null> {
  return host.run(["nft", "-s", "-n", "list", "table", ...ARP_TABLE.split(" ")]).catch(() => null);
}

/** This table in the kernel. Without it nothing more gets out, so a kernel without such tables is not a fault. */
export class ArpTable {
  /** What was loaded last, and how the kernel lists it, which nothing else waits for; null if that is unknown. */
  private loaded: { text: string; listing: Promise<string | null> } | null = null;

  constructor(
    private readonly host: Host,
    private readonly ownChanges: OwnChanges,
  ) {}

  has(text: string): boolean {
    return text === this.loaded?.text;
  }

  async load(text: string): Promise<void> {
    if (this.has(text)) return;
    await this.ownChanges.make(() => this.host.run(["nft", "-f", "-"], { stdin: text })).catch(() => {});
    this.loaded = { text, listing: listArpTable(this.host) };
  }

  /** Loads it again if another program has changed it. */
  async restore(): Promise<void> {
    if (this.loaded === null) return;
    const { text, listing } = this.loaded;
    if ((await listArpTable(this.host)) === (await listing)) return;
    this.loaded = null;
    await this.load(text);
  }
}
