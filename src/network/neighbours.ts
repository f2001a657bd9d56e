import { type Address, isHostAddress, parseAddress } from "../base/address.ts";
import { INTERFACE_NAME } from "../base/interface-name.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { nextTurn } from "../base/queue.ts";
import type { Host } from "../system/host.ts";
import { type Neighbour as Row, showNeighbours } from "../system/ip.ts";

/** An entry of the kernel's neighbour table, or a change of one. */
export interface Neighbour {
  interface: string;
  address: Address;
  /** Null if the kernel does not know it, or no longer. */
  mac: Mac | null;
  /** Milliseconds since the last sign of life by this entry; null if it has none. */
  heardMsAgo: number | null;
  /** The entry may only have grown old: its neighbour was heard up to half a minute before. */
  isLate?: true;
  /** Whether it stopped answering, or the kernel has removed the entry. */
  isLost: boolean;
}

/**
 * States that an entry enters when a packet of the neighbour has arrived: an answer, or a request that taught its
 * address. An entry that was not used for some 30 s becomes STALE too, so this may be late by as much (`neigh_timer_handler`
 * in Linux).
 */
const HEARD = ["REACHABLE", "STALE"];
const STATES = [...HEARD, "DELAY", "PROBE", "PERMANENT", "FAILED", "INCOMPLETE"];

/** Anyone on the LAN can fill the kernel's table, with 1,024 entries if it is left as it is. */
const ROWS_A_TURN = 100;

/** The change in a line of `ip monitor label neigh`; null for other lines, and for entries that are not of a host. */
export function neighbourIn(line: string): Neighbour | null {
  const [, deleted, address = "", device = "", rest = ""] =
    /^\[NEIGH\](Deleted )?([0-9a-f:.]+) dev (\S+) (.*)$/.exec(line) ?? [];
  const words = rest.trim().split(/\s+/);
  const lladdr = words[words.indexOf("lladdr") + 1] ?? "";
  const state = words.find((word) => STATES.includes(word)) ?? "";
  const heardMsAgo = HEARD.includes(state) ? 0 : null;
  return neighbourOf({ address, device, lladdr, state, heardMsAgo, isDeleted: deleted !== undefined });
}

/** The whole table. */
export async function readNeighbours(host: Pick<Host, "run">): Promise<Neighbour[]> {
  const rows = await showNeighbours(host);
  const found: Neighbour[] = [];
  for (let at = 0; at < rows.length; at += ROWS_A_TURN) {
    if (at > 0) await nextTurn();
    found.push(...rows.slice(at, at + ROWS_A_TURN).flatMap((row) => neighbourOfRow(row) ?? []));
  }
  return found;
}

function neighbourOfRow(row: Row): Neighbour | null {
  const { dst: address = "", dev: device = "", lladdr = "", state: [state = ""] = [] } = row;
  return neighbourOf({ address, device, lladdr, state, heardMsAgo: ageOf(state, row), isDeleted: false });
}

/** A new entry counts as confirmed long ago, although its neighbour has just been heard. */
function ageOf(state: string, { confirmed = 0, updated = 0 }: Row): number | null {
  if (state === "PERMANENT") return null;
  return 1_000 * (HEARD.includes(state) ? Math.min(confirmed, updated) : confirmed);
}

interface NeighbourEntry {
  address: string;
  device: string;
  lladdr: string;
  state: string;
  heardMsAgo: number | null;
  isDeleted: boolean;
}

function neighbourOf(entry: NeighbourEntry): Neighbour | null {
  const { device, lladdr, state, heardMsAgo, isDeleted } = entry;
  const address = parseAddress(entry.address);
  if (address === null || !isHostAddress(address) || !INTERFACE_NAME.test(device) || state === "")
    return null;
  const isLost = isDeleted || state === "FAILED" || state === "INCOMPLETE";
  return {
    interface: device,
    address,
    mac: parseMac(lladdr),
    heardMsAgo: isLost ? null : heardMsAgo,
    ...(state === "STALE" && !isLost && { isLate: true }),
    isLost,
  };
}
