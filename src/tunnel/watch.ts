import { TABLE } from "../firewall/ruleset.ts";
import { TUNNEL_TABLE } from "../routing/rules.ts";
import type { Host, Watch } from "../system/host.ts";
import { linksOfBase } from "./session.ts";

/** What the kernel's events are about. */
export type Sighting = "firewall" | "rules" | "tunnel" | "network";

/** Between the end of a program that watches and its next start. */
const RESTART_MS = 1_000;

/** Calls back when the kernel tells of a change; what changed is for the caller to find out. */
export function watchKernel(
  host: Host,
  base: string,
  onSighting: (sighting: Sighting) => void,
  signal: AbortSignal,
): void {
  const links = linksOfBase(base);
  const table = `"${TABLE.split(" ")[1]}"`;
  keepWatching(host, ["nft", "-j", "monitor"], signal, {
    onLine: (line) => line.includes(table) && onSighting("firewall"),
    onGap: () => onSighting("firewall"),
  });
  keepWatching(host, ["ip", "monitor", "label", "link", "address", "route", "rule"], signal, {
    onLine: (line) => {
      const sighting = sightingIn(line, links);
      if (sighting !== null) onSighting(sighting);
    },
    onGap: () => {
      for (const sighting of ["rules", "tunnel", "network"] as const) onSighting(sighting);
    },
  });
}

/** A line of `ip monitor label`; further lines of one message have no label. */
export function sightingIn(line: string, links: readonly string[]): Sighting | null {
  if (line.startsWith("[RULE]")) return "rules";
  const ofTunnel = line.split(/[\s:@]+/).some((word) => links.includes(word));
  if (line.startsWith("[ROUTE]")) {
    if (ofTunnel || line.includes(` table ${TUNNEL_TABLE} `)) return "tunnel";
    return line.includes("default ") ? "network" : null;
  }
  if (line.startsWith("[LINK]") || line.startsWith("[ADDR]")) return ofTunnel ? "tunnel" : "network";
  return null;
}

/** A program that ends is started again; what happened in between is unknown. */
function keepWatching(
  host: Host,
  argv: readonly string[],
  signal: AbortSignal,
  { onLine, onGap }: { onLine: (line: string) => void; onGap: () => void },
): void {
  let watch: Watch | null = null;
  const start = () => {
    watch = host.watch(argv, onLine, () => {
      void host.sleep(RESTART_MS, signal).then(() => {
        if (signal.aborted) return;
        start();
        onGap();
      });
    });
  };
  start();
  signal.addEventListener("abort", () => watch?.stop(), { once: true });
}
