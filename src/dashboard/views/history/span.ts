import { say } from "../../language.ts";

/** How far back the view looks. */
export type Span = "hour" | "day" | "months";

/** Whose traffic is shown: `tunnel <name>` or `device <id>`; of the uplink, its quality. */
export type Subject = "all" | "uplink" | `tunnel ${string}` | `device ${string}`;

export interface Look {
  title: string;
  seconds: number;
  resolution: "minute" | "hour";
  /** The length of a step of the graph. A screen shows hardly more steps. */
  stepSeconds: number;
  /** The time that a row of the table covers. */
  rowSeconds: number;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

export const LOOKS: Readonly<Record<Span, Look>> = {
  hour: {
    title: say("Last hour"),
    seconds: HOUR,
    resolution: "minute",
    stepSeconds: 60,
    rowSeconds: HOUR / 12,
  },
  day: { title: say("Last day"), seconds: DAY, resolution: "minute", stepSeconds: 300, rowSeconds: HOUR },
  months: {
    title: say("Two months"),
    seconds: 61 * DAY,
    resolution: "hour",
    stepSeconds: DAY,
    rowSeconds: DAY,
  },
};

export const LENGTHS_SECONDS = { minute: 60, hour: HOUR } as const;
