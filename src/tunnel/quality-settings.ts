import { SavedChoice, type Texts } from "../base/saved.ts";
import { QUALITY_BOUNDS } from "../shared/bounds.ts";

/** When a way counts as slow or lossy. */
export interface QualityLimits {
  slowMs: number;
  lossyPercent: number;
}

/** How the quality of tunnels is measured. */
export interface QualityChoice extends QualityLimits {
  on: boolean;
  /** How often, while a tunnel is used. */
  everySeconds: number;
}

const TEXT = /^(on|off), every (\d{1,3}) s, slow from (\d{1,4}) ms, lossy from (\d{1,3}) %$/;

/** As the preview of a restore shows it. */
export const QUALITY = new SavedChoice(
  "quality",
  "measurement of tunnels",
  textOf({ on: true, everySeconds: 10, slowMs: 300, lossyPercent: 10 }),
  (text) => choiceIn(text) !== null,
);

/** What people have chosen. */
export class QualitySettings {
  private current: QualityChoice | null = null;

  constructor(private readonly store: Texts) {}

  get choice(): QualityChoice {
    this.current ??= choiceIn(QUALITY.read(this.store)) ?? DEFAULT;
    return this.current;
  }

  /** To be called when the store has another choice, as after a restore. */
  reload(): void {
    this.current = null;
  }

  set(choice: QualityChoice): void {
    QUALITY.write(this.store, textOf(choice));
    this.current = choice;
  }
}

function textOf({ on, everySeconds, slowMs, lossyPercent }: QualityChoice): string {
  return `${on ? "on" : "off"}, every ${everySeconds} s, slow from ${slowMs} ms, lossy from ${lossyPercent} %`;
}

function choiceIn(text: string): QualityChoice | null {
  const [, on, ...numbers] = TEXT.exec(text) ?? [];
  if (on === undefined) return null;
  const [everySeconds = 0, slowMs = 0, lossyPercent = 0] = numbers.map(Number);
  const choice = { on: on === "on", everySeconds, slowMs, lossyPercent };
  const isSound = Object.entries(QUALITY_BOUNDS).every(([key, { minimum, maximum }]) => {
    const value = choice[key as keyof typeof QUALITY_BOUNDS];
    return value >= minimum && value <= maximum;
  });
  return isSound ? choice : null;
}

const DEFAULT = choiceIn(QUALITY.unset) as QualityChoice;
