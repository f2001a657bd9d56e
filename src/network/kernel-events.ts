import type { Host, Watch } from "../system/host.ts";

/**
 * What a kernel event is about. For the tunnel only losses are reported: of one interface, or null if it may be any.
 * `deleted` means that a part of it was deleted; otherwise the interface is down, as it is when it is created.
 */
export type KernelEvent =
  | { of: "firewall" }
  | { of: "other firewalls" }
  | { of: "rules" }
  | { of: "tunnel"; link: string | null; deleted: boolean }
  | { of: "network" };

/** The gateway's own objects in the kernel, to tell their changes from those of the machine's own network. */
export interface Watched {
  /** Names of the tunnel's interfaces. */
  links: readonly string[];
  /** Number of the routing table with the tunnel's routes. */
  routingTable: number;
  /** Family and name of the firewall's table. */
  firewallTable: string;
}

/** Pause before a monitor that has ended is started again. */
const RESTART_MS = 1_000;
/** A monitor listens this long after its start, even on a busy Pi. */
const LISTENS_AFTER_MS = 500;

/** Calls back when the kernel reports a change; the caller finds out what has changed. */
export function watchKernel(
  host: Host,
  watched: Watched,
  onEvent: (event: KernelEvent) => void,
  signal: AbortSignal,
): void {
  // The text form, unlike JSON, shows where a transaction ends.
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

/** What a transaction has changed, on the line of `nft monitor` that ends it; nothing on other lines. */
function transactions(table: string): (line: string) => ("firewall" | "other firewalls")[] {
  const touched = new Set<"firewall" | "other firewalls">();
  return (line) => {
    if (line.includes(` ${table}`)) touched.add("firewall");
    else if (/^(add|create|insert|replace|delete) (table|chain|rule) /.test(line))
      touched.add("other firewalls");
    if (!line.startsWith("# new generation ")) return [];
    const changed = [...touched];
    touched.clear();
    return changed;
  };
}

/** The event in a line of `ip monitor label`; continuation lines have no label. */
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

/** Restarts a monitor that ends. `onGap` is called once it listens, because earlier changes were not reported. */
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
      // No memory or process left: `onGap` after the next successful start covers what was missed.
      after(RESTART_MS, start);
    }
  };
  start();
  signal.addEventListener("abort", () => watch?.stop(), { once: true });
}
