import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { placeText } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { refused } from "./refusals.ts";
import type { ClaimState } from "./schema.ts";

/** From power-on. Who needs longer begins them again: `over` says how. */
export const CLAIM_MINUTES = 10;
/** In the state directory. A flashed image has it, and no other installation. */
export const CLAIM_FILE = "claim";
export const CLAIM_FILE_MODE = 0o600;
/** A disk may be full, or read-only for a while. */
const SAVE_AGAIN_MS = 60_000;

/**
 * The first minutes of a flashed gateway, in which one browser may become an owner without a code: nobody has a terminal
 * there. The file says whether they have passed, so a power cut within them gives them anew, and a later one does not.
 */
export class Claim {
  private readonly file: string;
  private saved: ClaimState;
  private isTaken = false;
  /** On the monotonic clock. The machine's age counts, and not the service's: a restart of that gives no more time. */
  private readonly until: number;

  constructor(
    private readonly clock: Pick<Host, "age" | "monotonic" | "sleep">,
    stateDir: string,
  ) {
    this.file = join(stateDir, CLAIM_FILE);
    this.saved = savedIn(this.file);
    this.until = clock.monotonic() + CLAIM_MINUTES * 60_000 - clock.age();
  }

  get state(): ClaimState {
    if (this.saved !== "open") return this.saved;
    return this.isTaken || this.clock.monotonic() >= this.until ? "over" : "open";
  }

  assertOpen(): void {
    if (this.state !== "open") throw refused("claim_over", { minutes: CLAIM_MINUTES });
  }

  /** Does the work for the first who asks; if it fails, it may be asked for again. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    this.assertOpen();
    this.isTaken = true;
    try {
      // Before the work: after a power cut between both, nobody is an owner, and not two.
      this.save("over");
      return await work();
    } catch (error) {
      this.giveBack();
      throw error;
    }
  }

  /** Returns whether that is saved; it holds until the next start in any case. */
  end(): boolean {
    if (this.saved === "none") return true;
    this.isTaken = true;
    try {
      this.save("over");
      return true;
    } catch {
      return false;
    }
  }

  /** Ends the minutes, also for the next boot. */
  async watch(signal: AbortSignal): Promise<void> {
    if (this.saved !== "open") return;
    await this.clock.sleep(Math.max(0, this.until - this.clock.monotonic()), signal);
    while (!signal.aborted && !this.end()) await this.clock.sleep(SAVE_AGAIN_MS, signal);
  }

  private giveBack(): void {
    this.isTaken = false;
    if (this.clock.monotonic() >= this.until) return;
    try {
      this.save("open");
    } catch {
      // It stays open until the next start.
      this.saved = "open";
    }
  }

  private save(state: "open" | "over"): void {
    placeText(this.file, `${state}\n`, CLAIM_FILE_MODE);
    this.saved = state;
  }
}

/** A file that is damaged, or on a damaged disk, opens nothing, and keeps nothing from starting. */
function savedIn(file: string): ClaimState {
  if (!existsSync(file)) return "none";
  try {
    return readFileSync(file, "utf8").trim() === "open" ? "open" : "over";
  } catch {
    return "over";
  }
}
