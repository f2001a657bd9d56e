import { codeOf, GatewayError, messageOf } from "./errors.ts";
import { refusals } from "./refusals.ts";

export const refused = refusals({
  unable: {
    unsaved:
      "{reason} {of, select, token {The token is not valid any more, but would be after a restart} other {The change is in force, but a restart would undo it}}: repeat the command when the database can be written.",
    not_taken_back:
      "{reason} It is not in force, but the database still has it: a restart puts it in force, unless the database can be written before.",
  },
});

/** What a restart would undo: a change, or that a token is not valid any more. */
export type Forgettable = "change" | "token";

/** The request has taken effect, because it only blocks something, but it could not be saved. */
export class Unsaved extends GatewayError {
  constructor(cause: unknown, of: Forgettable = "change") {
    const { message, args } = refused("unsaved", { reason: messageOf(cause), of });
    super(codeOf(cause), message, { cause, args });
  }
}

/** The request has no effect, but it was saved before it was refused, and could not be removed from the database. */
export class NotTakenBack extends GatewayError {
  constructor(cause: unknown) {
    const { message, args } = refused("not_taken_back", { reason: messageOf(cause) });
    super(codeOf(cause), message, { cause, args });
  }
}
