import { Type } from "typebox";
import { registrationReader } from "../keyed-registration.ts";
import { Token } from "./answers.ts";

/** This gateway's session with IVPN. The token is a secret; the account ID itself is not kept. */
export const registrationFrom = registrationReader({
  /** The account ID, masked. */
  account: Type.String({ pattern: "^[*A-Za-z0-9-]{1,32}$" }),
  token: Token,
});
export type IvpnRegistration = NonNullable<ReturnType<typeof registrationFrom>>;
