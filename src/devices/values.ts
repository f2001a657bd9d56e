import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { MAX_NAME_CHARACTERS } from "../shared/bounds.ts";

const Megabits = Type.Union([Type.Number({ minimum: 0.1, maximum: 10_000 }), Type.Null()]);

/** How fast a device may be. */
export const Rate = objectOf({
  down: { ...Megabits, description: "what it may receive, in Mbit/s; null for no limit" },
  up: { ...Megabits, description: "what it may send, in Mbit/s; null for no limit" },
});
export type Rate = Static<typeof Rate>;

const AtEnd = Type.Union([Type.Literal("blocked"), Type.Literal("told"), Rate], {
  description: "what happens when it is used up: blocked, a rate, or told (only an alert)",
});

const QUOTA = {
  megabytes: Type.Integer({
    minimum: 1,
    maximum: 10_000_000,
    description: "sent and received together, in millions of bytes",
  }),
  every: enumOf(["day", "month"]),
};

/** How much a device may send and receive together. */
export const Quota = objectOf({ ...QUOTA, at_end: AtEnd });
export type Quota = Static<typeof Quota>;

/** The same as a client gives it. Without `at_end` the device is blocked. */
export const GivenQuota = objectOf({ ...QUOTA, at_end: Type.Optional(AtEnd) });
export type GivenQuota = Static<typeof GivenQuota>;

/** A quota with what was used of it. */
export const UsedQuota = objectOf({
  ...Quota.properties,
  used_bytes: Type.Integer({ description: "in the current day or month, as read last" }),
});
export type UsedQuota = Static<typeof UsedQuota>;

const Icon = enumOf(["phone", "laptop", "tv", "camera", "console", "printer", "speaker", "other"], {
  description: "the kind of device",
});

/** A person or a room: "Ana", "Living room". */
const Group = Type.String({
  minLength: 1,
  maxLength: 2 * MAX_NAME_CHARACTERS,
  description: "the person or the room that it belongs to, in 1 to 64 characters",
});

/**
 * What else a person can say of a single device, in a few words or yes. It opens and closes nothing. A row here is kept, in
 * answers, changes and backups; the command line and the page say how it is given and shown.
 */
export const LABELS = { icon: Icon, group: Group };
export type LabelKey = keyof typeof LABELS;
export const LABEL_KEYS = Object.keys(LABELS) as LabelKey[];
export type Labels = { [Key in LabelKey]: Static<(typeof LABELS)[Key]> };
