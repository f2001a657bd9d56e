import type { Alarm } from "../base/alert.ts";
import { CommandError } from "../base/errors.ts";
import { SavedChoice, type Texts } from "../base/saved.ts";
import type { KillSwitch } from "./killswitch.ts";

/** Whether the operator wants the kill switch. A restore turns it off only if that is permitted. */
export const KILL_SWITCH = new SavedChoice(
  "killswitch",
  "kill switch",
  "on",
  (text) => /^(on|off)$/.test(text),
  true,
);

/** Whether the operator wants the kill switch; true unless it was turned off. */
export function isKillSwitchWanted(saved: Pick<Texts, "read">): boolean {
  return KILL_SWITCH.read(saved) !== "off";
}

interface Deps {
  killSwitch: Pick<KillSwitch, "enforce">;
  /** Has each value at once, and saves it later if it cannot be saved now. */
  savedState: Texts & { reload(): void; assertSaved(): void };
  /** Throws if a value cannot be saved. */
  store: Pick<Texts, "write">;
  /** Decides while `main` is not being dialled, and makes the kernel match. That is retried if it fails. */
  settle: (decide: () => void) => Promise<void>;
  alarm: Alarm;
}

/** The operator's decision to have the kill switch or not. Its only writer; HTTP clients cannot reach it. */
export class OperatorSwitch {
  /** What the operator asked for last. */
  private requested = true;
  /** The decision as the last alert reported it. */
  private announced: boolean;
  /** Whether it was read as off again, and stays on until everything else has been read. */
  private isOffDue = false;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly deps: Deps) {
    this.announced = this.isOn;
  }

  get isOn(): boolean {
    return isKillSwitchWanted(this.deps.savedState);
  }

  /**
   * On takes effect at once, even if it cannot be saved. Off waits for a dial in progress, and is saved first, because
   * a restart would turn it on again unexpectedly.
   */
  async turn(isOn: boolean): Promise<void> {
    const { savedState, killSwitch, settle } = this.deps;
    this.requested = isOn;
    this.isOffDue = false;
    if (isOn) {
      // A connect that tries one target after the other may take minutes, and what closes does not wait for it.
      this.save(true);
      void killSwitch.enforce().catch(() => {});
    }
    await settle(() => {
      // One that waited for a connect must not open what has been closed since.
      if (!isOn && this.requested)
        throw new CommandError("interrupted", "interrupted by turning the kill switch on");
      this.decide(isOn);
    });
    for (const listener of this.listeners) listener();
    savedState.assertSaved();
  }

  /** Reads the saved state again. On takes effect at once; off with `reloaded`, and not at all without it. */
  async reload(): Promise<void> {
    const wasOn = this.isOn;
    this.deps.savedState.reload();
    this.isOffDue = wasOn && !this.isOn;
    if (this.isOffDue) this.save(true);
    else if (this.isOn !== wasOn) await this.turn(true);
  }

  async reloaded(): Promise<void> {
    if (this.isOffDue) await this.turn(false);
  }

  /** Saves the decision, and announces it if it has changed. The kernel is the caller's. */
  decide(isOn: boolean): void {
    this.save(isOn);
    if (isOn !== this.announced) this.deps.alarm(isOn ? "killswitch_on" : "killswitch_off", {});
    this.announced = isOn;
  }

  /** Calls back each time the operator has turned the kill switch on or off. */
  onTurned(listener: () => void): void {
    this.listeners.add(listener);
  }

  private save(isOn: boolean): void {
    const { savedState, store } = this.deps;
    if (!isOn) KILL_SWITCH.write(store, "off");
    KILL_SWITCH.write(savedState, isOn ? "on" : "off");
  }
}
