import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { reasonFields } from "../base/reason.ts";
import { GivenQuota, Rate } from "../devices/values.ts";
import { MAX_EVERY_HOURS, MAX_ONCE_MINUTES } from "../shared/bounds.ts";

const Day = enumOf(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]);
export type Day = Static<typeof Day>;
/** In the order of ISO 8601. */
export const DAYS: readonly Day[] = Day.anyOf.map((day) => day.const);

const time = (description: string) => Type.Optional(Type.String({ description }));

/** The action of a schedule, and its times. `scheduleIn` checks which fields belong together. */
export const ScheduleBody = objectOf({
  tunnel: Type.Optional(
    Type.String({
      description: "this tunnel moves to another server of its place, if it is connected at that time",
    }),
  ),
  device: Type.Optional(
    Type.String({
      description:
        "from `at` to `until` this device has the exit, the rate or the quota; by id, as in /api/devices",
    }),
  ),
  network: Type.Optional(
    Type.String({
      description:
        "in place of `device`: the network of this LAN interface; its devices have the rate or the quota together, and the exit if they have none of their own",
    }),
  ),
  exit: Type.Optional(Type.String({ description: "with `device`: name of a tunnel, or blocked" })),
  rate: Type.Optional(
    Type.Union([Rate, Type.Null()], {
      description: "with `device`, in place of `exit`: how fast it may be; null for no limit of its own",
    }),
  ),
  quota: Type.Optional(
    Type.Union([GivenQuota, Type.Null()], {
      description:
        "with `device`, in place of `exit`: how much it may send and receive in these hours of the day or month; null for no quota of its own",
    }),
  ),
  shared_rate: Type.Optional(
    Type.Union([Rate, Type.Null()], {
      description:
        "from `at` to `until` all devices without a rate of their own have this one together; null for none",
    }),
  ),
  shared_quota: Type.Optional(
    Type.Union([GivenQuota, Type.Null()], {
      description:
        "from `at` to `until` all devices without a quota of their own have this one together; null for none",
    }),
  ),
  at: time("24-hour time on the gateway's clock, such as 21:00"),
  until: time(
    "not with `tunnel`: when the exit, the rate or the quota ends; the next day if it is not after `at`",
  ),
  every_hours: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_EVERY_HOURS, description: "with `tunnel`, in place of `at`" }),
  ),
  once: Type.Optional(
    objectOf(
      {
        minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_ONCE_MINUTES })),
        until: time("24-hour time on the gateway's clock, such as 07:00, whenever it comes next"),
      },
      {
        description:
          "not with `tunnel`, and in place of all other times: from now on for `minutes`, or until this time; then the schedule is removed",
      },
    ),
  ),
  days: Type.Optional(
    Type.Array(Day, {
      minItems: 1,
      maxItems: 7,
      uniqueItems: true,
      description: "the days on which `at` counts; all if missing",
    }),
  ),
});
export type ScheduleBody = Static<typeof ScheduleBody>;

const moment = (description: string) => Type.String({ description: `${description}, in ISO 8601` });

/** A schedule as it is saved. */
export const SavedSchedule = objectOf({
  name: Type.String(),
  ...ScheduleBody.properties,
  once: Type.Optional(objectOf({ began_at: moment("when it began"), ends_at: moment("when it ends") })),
});
export type SavedSchedule = Static<typeof SavedSchedule>;

/** A schedule with what it does now. */
export const Schedule = objectOf({
  ...SavedSchedule.properties,
  active: Type.Boolean({
    description: "whether the exit, the rate or the quota is in force now because of it",
  }),
  next_at: Type.String({ description: "when it begins, ends or moves next, in ISO 8601" }),
  ...reasonFields("why it could not be carried out the last time"),
});

export const ScheduleList = objectOf({
  time_zone: Type.String({ description: "of the gateway, in which times of day are meant" }),
  schedules: Type.Array(Schedule),
});
export type ScheduleList = Static<typeof ScheduleList>;
