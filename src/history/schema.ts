import { type Static, Type } from "typebox";
import { AlertArguments, AlertCode } from "../base/alert.ts";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { UNANSWERED } from "../journal/schema.ts";
import { VIA } from "../servers/schema.ts";
import { StateName } from "../tunnel/state.ts";

const AT = Type.String({ description: "ISO 8601" });
const TUNNEL = Type.String({ examples: ["main"] });
const BYTES = { rx_bytes: Type.Integer({ minimum: 0 }), tx_bytes: Type.Integer({ minimum: 0 }) };

/** How long a tunnel was in a state, and why. */
export const Span = objectOf({
  tunnel: TUNNEL,
  state: StateName,
  server: Type.String({ description: "empty without one" }),
  location: Type.String(),
  via: Type.Optional(VIA),
  error: Type.Union([Type.String(), Type.Null()], { description: "why it was so, if something failed" }),
  unanswered: Type.Optional(UNANSWERED),
  from: Type.String({ description: "ISO 8601; may be before the range" }),
  until: Type.Union([AT, Type.Null()], { description: "null if it lasted to the end of the range" }),
});
export type Span = Static<typeof Span>;

export const Resolution = enumOf(["minute", "hour"]);
export type Resolution = Static<typeof Resolution>;

/** The answer of `/api/history`. */
export const HistoryPage = objectOf({
  kept: Type.Boolean({ description: "false with --history off: then there are no figures" }),
  resolution: Resolution,
  from: AT,
  to: Type.String({ description: "ISO 8601; exclusive" }),
  points: Type.Array(objectOf({ at: AT, ...BYTES }, { description: "begins at `at`" }), {
    description:
      "what all tunnels, or the given tunnel or device, have carried by minute or hour, oldest first; without those in which nothing was carried",
  }),
  quality: Type.Array(
    objectOf(
      {
        at: AT,
        round_trip_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
          description: "the mean; null if no answer came",
        }),
        variation_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
        loss_percent: Type.Number({ minimum: 0, maximum: 100 }),
      },
      { description: "begins at `at`" },
    ),
    {
      description:
        "the quality of the given tunnel, of `main` without one, or of the uplink, by minute or hour, oldest first; none of a device",
    },
  ),
  off: Type.Array(objectOf({ from: AT, until: AT }), {
    description:
      "the parts of the range in which the gateway did not run, the time before its first start included, oldest first",
  }),
  tunnels: Type.Array(objectOf({ name: TUNNEL, ...BYTES }), {
    description: "what each tunnel has carried in the range, the most first",
  }),
  devices: Type.Array(objectOf({ id: Type.String(), ...BYTES }), {
    description: "what each device has received and sent in the range, the most first",
  }),
  states: Type.Array(Span, {
    description: "the tunnels' states in the range, or those of the given tunnel, oldest first",
  }),
  alerts: Type.Array(
    objectOf({
      at: AT,
      code: AlertCode,
      args: AlertArguments,
      message: Type.String({ description: "one sentence for people" }),
    }),
    { description: "oldest first" },
  ),
  more: Type.Boolean({
    description: "whether states and alerts are only the latest of the range; GET /api/events has them all",
  }),
});
export type HistoryPage = Static<typeof HistoryPage>;
