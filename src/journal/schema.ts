import { type Static, Type } from "typebox";
import { AlertArguments, AlertCode } from "../base/alert.ts";
import { objectOf } from "../base/object.ts";
import { VIA } from "../servers/schema.ts";
import { Moved } from "../tunnel/moved.ts";
import { StateName } from "../tunnel/state.ts";

const AT = Type.String({ description: "ISO 8601" });
const ID = Type.Integer({ minimum: 1, description: "greater than that of each earlier event" });

export const UNANSWERED = Type.Boolean({
  description: "true if it carried nothing: nothing but handshakes came back; missing otherwise",
});

/** One event of the journal. */
export const JournalEntry = Type.Union([
  objectOf({
    id: ID,
    at: AT,
    type: Type.Literal("security_alert"),
    code: AlertCode,
    args: AlertArguments,
    message: Type.String({ description: "one sentence for people" }),
  }),
  objectOf({
    id: ID,
    at: AT,
    type: Type.Literal("tunnel_state"),
    tunnel: Type.String({ examples: ["main"] }),
    state: StateName,
    server: Type.String({ description: "empty without one" }),
    location: Type.String(),
    via: Type.Optional(VIA),
    error: Type.Union([Type.String(), Type.Null()], { description: "why it is so, if something failed" }),
    unanswered: Type.Optional(UNANSWERED),
    moved: Type.Optional(Moved),
  }),
]);
export type JournalEntry = Static<typeof JournalEntry>;

/** The answer of `/api/events`. */
export const JournalPage = objectOf({
  events: Type.Array(JournalEntry, { description: "the latest ones, oldest first" }),
  more: Type.Boolean({ description: "whether there are earlier ones that match" }),
});
export type JournalPage = Static<typeof JournalPage>;

/** The event without the fields that the journal adds. */
export type NewJournalEntry = JournalEntry extends infer Entry
  ? Entry extends JournalEntry
    ? Omit<Entry, "id" | "at">
    : never
  : never;
