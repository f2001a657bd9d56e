import type { Host, Watch } from "../system/host.ts";

/**
 * What the kernel's events are about. Of the tunnel only losses are told: a link, or null where it may be any.
 * Something of it was deleted, or else the link is down, as each is when it is made.
 */
export type KernelEvent =
  | { of: "firewall" }
  | { of: "other firewalls" }
  | { of: "rules" }
  | { of: "tunnel"; link: string | null; deleted: boolean }
  | { of: "network" };

/** What of the kernel is the gateway's: its changes are told apart from those of the machine's own network. */
export interface Watched {
  /** Names of the tunnel's interfaces. */
  links: readonly string[];
  /** Number of the routing table with the tunnel's routes. */
  routingTable: number;
  /** Family and name of the firewall's table. */
  firewallTable: string;
}

/** Between the end of a program that watches and its next start. */
const RESTART_MS = 1_000;
/** By then a program that was started listens, on a busy Pi too. */
const LISTENS_AFTER_MS = 500;

/** Calls back when the kernel tells of a change; what changed is for the caller to find out. */
export function watchKernel(
  host: Host,
  watched: Watched,
  onEvent: (event: KernelEvent) => void,
  signal: AbortSignal,
): void {
  // The text form, unlike the JSON, tells where a transaction ends.
  const touchedBy = transactions(watched.firewallTable);
  keepWatching(host, ["nft", "monitor"], signal, {
    onLine: (line) => {
      for (const of of touchedBy(line)) onEvent({ of });
    },
    onGap: () => {
      for (const of of ["firewall", "other firewalls"] as const) onEvent({ of });
    },
  });
  keepWatching(host, ["ip", "monitor", "label", "link", "address", "route", "rule"], signal, {
    onLine: (line) => {
      const event = kernelEventIn(line, watched);
      if (event !== null) onEvent(event);
    },
    onGap: () => {
      for (const of of ["rules", "network"] as const) onEvent({ of });
      onEvent({ of: "tunnel", link: null, deleted: true });
    },
  });
}

/** What a transaction has touched, at the line of `nft monitor` that ends it; nothing at any other. */
function transactions(table: string): (line: string) => ("firewall" | "other firewalls")[] {
  const touched = new Set<"firewall" | "other firewalls">();
  return (line) => {
    if (line.includes(` ${table}`)) touched.add("firewall");
    else if (/^(add|create|insert|replace|delete) (table|chain|rule) /.test(line))
      touched.add("other firewalls");
    if (!line.startsWith("# new generation ")) return [];
    const told = [...touched];
    touched.clear();
    return told;
  };
}

/** A line of `ip monitor label`; further lines of one message have no label. */
export function kernelEventIn(line: string, { links, routingTable }: Watched): KernelEvent | null {
  if (line.startsWith("[RULE]")) return { of: "rules" };
  if (!/^\[(LINK|ADDR|ROUTE)\]/.test(line)) return null;
  const link = line.split(/[\s:@]+/).find((word) => links.includes(word)) ?? null;
  const deleted = line.includes("]Deleted ");
  const lost = deleted || (line.startsWith("[LINK]") && !/[<,]UP[,>]/.test(line));
  if (line.startsWith("[ROUTE]") && line.includes(` table ${routingTable} `)) {
    return lost || link === null ? { of: "tunnel", link, deleted } : null;
  }
  if (link !== null) return lost ? { of: "tunnel", link, deleted } : null;
  return line.startsWith("[ROUTE]") && !line.includes("default ") ? null : { of: "network" };
}

/** A program that ends is started again. What happened before one listens nobody tells. */
function keepWatching(
  host: Host,
  argv: readonly string[],
  signal: AbortSignal,
  { onLine, onGap }: { onLine: (line: string) => void; onGap: () => void },
): void {
  let watch: Watch | null = null;
  const after = (ms: number, work: () => void) =>
    void host.sleep(ms, signal).then(() => {
      if (!signal.aborted) work();
    });
  const start = () => {
    try {
      watch = host.watch(argv, onLine, () => after(RESTART_MS, start));
      after(LISTENS_AFTER_MS, onGap);
    } catch {
      // No memory or no process left for it: what it would have told is found by the look after the start that succeeds.
      after(RESTART_MS, start);
    }
  };
  start();
  signal.addEventListener("abort", () => watch?.stop(), { once: true });
}
