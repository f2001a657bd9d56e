import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { reasonFields } from "../base/reason.ts";
import { MAX_NAME_CHARACTERS } from "../shared/bounds.ts";

const TARGET = Type.String({
  description: "its kind and its host; the address itself is secret",
  examples: ["ntfy at ntfy.sh"],
});

/** What one address that gets notifications shows of itself. */
export const ShownTarget = objectOf({
  name: Type.Union([Type.String(), Type.Null()], {
    description: "as the person who added it has named it; null for one of the setting `--notify`",
  }),
  target: TARGET,
  waiting: Type.Integer({ minimum: 0, description: "how many events are waiting to be sent to it" }),
  ...reasonFields("why the last message did not arrive, or the address cannot be used"),
});
export type ShownTarget = Static<typeof ShownTarget>;

/** GET /api/notifications. */
export const TargetList = objectOf({ targets: Type.Array(ShownTarget) });
export type TargetList = Static<typeof TargetList>;

/** Body of POST /api/notifications. */
export const NewTarget = objectOf({
  name: Type.String({
    maxLength: MAX_NAME_CHARACTERS * 2,
    description: "as you want to see it, such as phone",
  }),
  address: Type.String({
    maxLength: 2_048,
    description: "an ntfy, gotify or https address, with the token or the password that it needs",
  }),
});
export type NewTarget = Static<typeof NewTarget>;

/** The result of a test for one target. */
export const TestResult = objectOf({
  target: TARGET,
  sent: Type.Boolean(),
  ...reasonFields("the reason, if it was not accepted"),
});
export type TestResult = Static<typeof TestResult>;

/** POST /api/notifications/test. */
export const TestResults = objectOf({ targets: Type.Array(TestResult) });
export type TestResults = Static<typeof TestResults>;
