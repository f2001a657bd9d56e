import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Mac } from "../base/mac.ts";
import { type Neighbour, readNeighbours } from "../network/neighbours.ts";
import type { Host } from "../system/host.ts";
import type { Neighbourhood } from "./neighbourhood.ts";

/** Pause between two readings of the table. */
const LOOK_EVERY_MS = 1_000;

interface Deps {
  host: Pick<Host, "run" | "sleep">;
  neighbourhood: Neighbourhood;
  /** Neighbours on other interfaces are not devices. */
  isOnLan: (neighbour: Neighbour) => boolean;
  /** Called with the devices that may have changed. */
  onSeen: (macs: readonly Mac[]) => void;
  log: Pick<Log, "warn">;
}

/** Passes the kernel's neighbour table, and each change of it, to the neighbourhood. */
export class NeighbourTable {
  /** The changes while the table is read, for each reading. */
  private readonly looks = new Set<Neighbour[]>();
  /** Whether it was read. */
  isKnown = false;
  /** Whether its changes are reported: then it is read, too. */
  private isTold = false;
  private isLooking = false;
  private isLookDue = false;

  constructor(private readonly deps: Deps) {}

  /** Handles a change; null if changes may have been missed. */
  saw(neighbour: Neighbour | null): void {
    this.isTold = true;
    if (neighbour === null) return void this.lookAgain();
    if (!this.deps.isOnLan(neighbour)) return;
    for (const during of this.looks) during.push(neighbour);
    this.deps.onSeen(this.deps.neighbourhood.take(neighbour));
  }

  /** Reads the table for callers that ask before its changes are reported. */
  async lookFirst(): Promise<void> {
    if (!this.isKnown && !this.isTold) await this.look();
  }

  /** Reads the table, for changes that its events do not report. */
  async look(): Promise<void> {
    const { host, neighbourhood, isOnLan, onSeen, log } = this.deps;
    const during: Neighbour[] = [];
    this.looks.add(during);
    try {
      const all = await readNeighbours(host);
      // What changed meanwhile may be missing from the table that was read.
      neighbourhood.takeAll(all.filter(isOnLan));
      for (const neighbour of during) neighbourhood.take(neighbour);
      this.isKnown = true;
      onSeen(neighbourhood.macs);
    } catch (error) {
      log.warn(`the neighbour table could not be read: ${messageOf(error)}`);
    } finally {
      this.looks.delete(during);
    }
  }

  /** A host that floods the LAN makes the kernel drop events all the time. */
  private async lookAgain(): Promise<void> {
    this.isLookDue = true;
    if (this.isLooking) return;
    this.isLooking = true;
    while (this.isLookDue) {
      this.isLookDue = false;
      await this.look();
      await this.deps.host.sleep(LOOK_EVERY_MS);
    }
    this.isLooking = false;
  }
}
