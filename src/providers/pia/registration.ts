import { type Static, Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import { objectOf } from "../../base/object.ts";

/** The account's credentials, with which each day's token is made. They are secrets, kept only in the store. */
const Stored = objectOf({
  username: Type.String({ pattern: "^[\\x21-\\x7e]{1,64}$" }),
  password: Type.String({ pattern: "^[^\\p{Cc}]{1,256}$" }),
  /** ISO 8601. */
  created: Type.String({ pattern: "^[0-9TZ:.+-]{1,40}$" }),
  /** The port that PIA has reserved, until it expires. */
  port: Type.Optional(
    objectOf({ payload: Type.String({ maxLength: 4_098 }), signature: Type.String({ maxLength: 4_098 }) }),
  ),
});
export type PiaRegistration = Static<typeof Stored>;

const schema = checkerOf(Stored);

/** Null if the text is not a registration. */
export function registrationFrom(text: string): PiaRegistration | null {
  return schema.read(text);
}
