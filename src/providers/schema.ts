import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";

/** The secrets that open an account. Each provider asks for one or two of them. Their `parse` has the bounds. */
export const Credentials = objectOf({
  account_number: Type.Optional(Type.String({ description: "Mullvad" })),
  account_id: Type.Optional(Type.String({ description: "IVPN" })),
  two_factor_code: Type.Optional(Type.String({ description: "IVPN, if the account needs one" })),
  user_name: Type.Optional(Type.String({ description: "Private Internet Access" })),
  password: Type.Optional(Type.String({ description: "Private Internet Access" })),
  access_token: Type.Optional(Type.String({ description: "NordVPN" })),
});
export type Credentials = Static<typeof Credentials>;

/** The operator's view of the account; contains no secret. */
export const ShownAccount = objectOf({
  number: Type.String({ description: "all but its last characters are masked" }),
  device: Type.String({ description: "the provider's name for this gateway" }),
  public_key: Type.Union([Type.String(), Type.Null()], {
    description: "null if each connection has a key of its own",
  }),
  addresses: Type.Array(Type.String()),
  created: Type.String({ description: "ISO 8601" }),
  paid_until: Type.Union([Type.String(), Type.Null()], {
    description: "ISO 8601; null if the provider has not said it",
  }),
  warnings: Type.Array(Type.String(), { description: "one sentence each" }),
});
export type ShownAccount = Static<typeof ShownAccount>;

export const LoggedOut = objectOf({
  device: Type.String({ description: "the provider's name for this gateway" }),
  remains: Type.Union([Type.String(), Type.Null()], {
    description: "a sentence if the provider still has something; else null",
  }),
});
export type LoggedOut = Static<typeof LoggedOut>;
