import type { Host, Watch } from "../system/host.ts";
import { LIMITS_TABLE } from "./limits-table.ts";
import { type Neighbour, neighbourIn } from "./neighbours.ts";
import { OWN_TABLES } from "./own-table.ts";
import { LAN_TABLE, ROUTED_TABLE } from "./slot.ts";

/**
 * The subject of a kernel event. For a tunnel only losses are reported: of one interface, or null if it may be any.
 * `deleted` means that a part of it was deleted. Otherwise the interface is down, as it is when it is created. `missed`
 * means that changes to the firewall may not have been reported, and `goneAt` is the number of the change that has deleted
 * its main table, or null.
 */
export type KernelEvent =
  | { of: "firewall"; missed: boolean; goneAt: number | null }
  | { of: "other firewalls"; missed: boolean }
  | { of: "rules" }
  | { of: "tunnel"; link: string | null; deleted: boolean }
  | { of: "network" };

/** The gateway's own objects in the kernel, to tell their changes from those of the machine's own network. */
export interface Watched {
  /** Names of the tunnels' interfaces. */
  links: readonly string[];
  /** Numbers of the routing tables with the tunnels' routes. */
  routingTables: readonly number[];
  /** Names of the LAN's present interfaces. */
  lanLinks: () => readonly string[];
  /** Family and name of the firewall's tables, the main one first. */
  firewallTables: readonly [string, ...string[]];
}

/** Pause before a monitor that has ended is started again. */
const RESTART_MS = 1_000;
/** Far more than the devices of a home cause, even after a power cut. Anyone on the LAN can cause any number. */
const NEIGHBOURS_PER_SECOND = 1_000;
/** A monitor listens this long after its start, even on a busy Pi. */
const LISTENS_AFTER_MS = 500;

export interface KernelListener {
  /** The kernel reports a change, and the caller finds out what has changed. */
  onEvent: (event: KernelEvent) => void;
  /**
   * Whether every change of firewall and routing is reported from now on. This is so only while both monitors listen.
   */
  onWatching: (watching: boolean) => void;
  /** All changes of the firewall up to this number have been reported. */
  onGeneration?: (generation: number) => void;
  /** A program that reports changes has ended by itself, or could not be started. It is started again. */
  onEnded?: (command: string) => void;
  /** A change of the neighbour table; null if some may have been missed. */
  onNeighbour?: (neighbour: Neighbour | null) => void;
}

/** Reports the kernel's changes until `signal` aborts. */
export function watchKernel(
  host: Host,
  watched: Watched,
  { onEvent, onWatching, onGeneration, onEnded, onNeighbour }: KernelListener,
  signal: AbortSignal,
): void {
  // The text form, unlike JSON, shows where a transaction ends.
  const changedBy = transactions(watched.firewallTables);
  const monitors: Monitor[] = [
    {
      argv: ["nft", "monitor"],
      onLine: (line) => {
        for (const event of changedBy(line)) onEvent(event);
        const generation = generationIn(line);
        if (generation !== null) onGeneration?.(generation);
      },
      onGap: () => {
        onEvent({ of: "firewall", missed: true, goneAt: null });
        onEvent({ of: "other firewalls", missed: true });
      },
    },
    {
      argv: ["ip", "monitor", "label", "link", "address", "route", "rule"],
      onLine: (line) => {
        const event = kernelEventIn(line, watched);
        if (event !== null) onEvent(event);
      },
      onGap: () => {
        for (const of of ["rules", "network"] as const) onEvent({ of });
        onEvent({ of: "tunnel", link: null, deleted: true });
      },
    },
  ];
  const listening = new Set<Monitor>();
  for (const monitor of monitors) {
    keepWatching(
      host,
      monitor,
      signal,
      (listens) => {
        if (listens) listening.add(monitor);
        else listening.delete(monitor);
        onWatching(listening.size === monitors.length);
      },
      onEnded,
    );
  }
  keepWatching(host, neighbourMonitor(onNeighbour), signal, () => {}, onEnded);
}

/** A separate process: a flood of neighbours must fill its pipe and its socket, not those of routing. */
function neighbourMonitor(onNeighbour: KernelListener["onNeighbour"]): Monitor {
  return {
    argv: ["ip", "monitor", "label", "neigh"],
    onLine: (line) => {
      const neighbour = neighbourIn(line);
      if (neighbour !== null) onNeighbour?.(neighbour);
    },
    onGap: () => onNeighbour?.(null),
    linesPerSecond: NEIGHBOURS_PER_SECOND,
  };
}

/** A program that prints the kernel's events. */
interface Monitor {
  argv: readonly string[];
  onLine: (line: string) => void;
  /**
   * Changes were not reported, because the monitor did not listen yet, or because there were more than it could read.
   */
  onGap: () => void;
  /** The limit of what is read if strangers can cause any number; unlimited if absent. */
  linesPerSecond?: number;
}

/** `nft` and `ip` print this when the kernel has dropped events for them (ENOBUFS). Both continue. */
const LOST_EVENTS = /^(# ERROR: |netlink receive error )/;

/**
 * A quota that is used up, as `nft monitor` prints it. It is in no transaction, and has the packet's family in place of
 * the table's (nft_quota.c, `nft_quota_obj_eval`).
 */
const USED_UP = new RegExp(`^add quota ip6? ${LIMITS_TABLE.split(" ")[1]} `);

/**
 * Any other change of the gateway's other tables: without the elements of its maps, a table of limits has no effect.
 */
const OF_OWN = new RegExp(`^\\w+ \\w+ (${OWN_TABLES.join("|")}) `);

/** The number of the change that a line of `nft monitor` ends, or null. */
function generationIn(line: string): number | null {
  const [, generation] = /^# new generation (\d+) /.exec(line) ?? [];
  return generation === undefined ? null : Number(generation);
}

/** What the transaction has changed that a line of `nft monitor` ends; nothing on other lines. */
function transactions(tables: Watched["firewallTables"]): (line: string) => KernelEvent[] {
  const [main] = tables;
  let touched: { firewall?: { isGone: boolean }; others?: KernelEvent } = {};
  return (line) => {
    if (USED_UP.test(line)) return [{ of: "other firewalls", missed: false }];
    // Other tables may have a longer name with the same beginning.
    if (tables.some((table) => `${line} `.includes(` ${table} `))) {
      // Who replaces it adds it again in the same transaction.
      const isDeleted = touched.firewall?.isGone === true && line !== `add table ${main}`;
      touched.firewall = { isGone: isDeleted || line === `delete table ${main}` };
    } else if (/^(add|create|insert|replace|delete) (table|chain|rule) /.test(line) || OF_OWN.test(line))
      touched.others = { of: "other firewalls", missed: false };
    const generation = generationIn(line);
    if (generation === null) return [];
    const { firewall, others } = touched;
    touched = {};
    const goneAt = firewall?.isGone ? generation : null;
    return [firewall ? { of: "firewall" as const, missed: false, goneAt } : [], others ?? []].flat();
  };
}

/**
 * A route of the machine's own to a private network. The kernel's own routes, for addresses, are excluded, because
 * addresses are reported too.
 */
const TO_PRIVATE =
  /^\[ROUTE\](Deleted )?(10\.|172\.(1[6-9]|2[0-9]|3[01])\.|192\.168\.|f[cd])(?!.* (table|proto kernel) )/;

/** A route of the machine's own through a router. */
const THROUGH_ROUTER = /^\[ROUTE\](Deleted )?\S+ (?=.*\bvia )(?!.* table )/;

/** The event in a line of `ip monitor label`; continuation lines have no label. */
export function kernelEventIn(line: string, { links, routingTables, lanLinks }: Watched): KernelEvent | null {
  if (line.startsWith("[RULE]")) return { of: "rules" };
  if (!/^\[(LINK|ADDR|ROUTE)\]/.test(line)) return null;
  const link = line.split(/[\s:@]+/).find((word) => links.includes(word)) ?? null;
  const deleted = line.includes("]Deleted ");
  const lost = deleted || (line.startsWith("[LINK]") && !/[<,]UP[,>]/.test(line));
  if (line.startsWith("[ROUTE]") && routingTables.some((table) => line.includes(` table ${table} `))) {
    return lost || link === null ? { of: "tunnel", link, deleted } : null;
  }
  if (link !== null) return lost ? { of: "tunnel", link, deleted } : null;
  const isOurs = [ROUTED_TABLE, LAN_TABLE].some((table) => line.includes(` table ${table} `));
  if (line.startsWith("[ROUTE]") && isOurs) {
    const [, dev = ""] = / dev (\S+) /.exec(line) ?? [];
    const isOwn = line.startsWith("[ROUTE]unreachable ") || lanLinks().includes(dev);
    return deleted || !isOwn ? { of: "rules" } : null;
  }
  const isRead = line.includes("default ") || TO_PRIVATE.test(line) || THROUGH_ROUTER.test(line);
  return line.startsWith("[ROUTE]") && !isRead ? null : { of: "network" };
}

/** Restarts a monitor that ends. */
function keepWatching(
  host: Host,
  { argv, onLine, onGap, linesPerSecond }: Monitor,
  signal: AbortSignal,
  onListening: (listens: boolean) => void,
  onEnded?: (command: string) => void,
): void {
  let watch: Watch | null = null;
  const after = (ms: number, work: () => void) =>
    void host.sleep(ms, signal).then(() => {
      if (!signal.aborted) work();
    });
  const ended = () => {
    watch = null;
    onListening(false);
    onEnded?.(argv.join(" "));
    after(RESTART_MS, start);
  };
  const start = () => {
    try {
      const started = host.watch(
        argv,
        (line) => (LOST_EVENTS.test(line) ? onGap() : onLine(line)),
        ended,
        linesPerSecond === undefined ? undefined : { linesPerSecond, onDropped: onGap },
      );
      watch = started;
      after(LISTENS_AFTER_MS, () => {
        if (watch !== started) return;
        onListening(true);
        onGap();
      });
    } catch {
      // No memory or process is left, or a program is missing. `onGap` after the next start covers what was missed.
      onEnded?.(argv.join(" "));
      after(RESTART_MS, start);
    }
  };
  const stop = () => {
    watch?.stop();
    onListening(false);
  };
  start();
  signal.addEventListener("abort", stop, { once: true });
}
