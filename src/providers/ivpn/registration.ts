import { type Static, Type } from "typebox";
import { isPrefix, type Prefix } from "../../address.ts";
import { checkerOf } from "../../checker.ts";
import { isKey } from "../../wireguard/key.ts";
import { Config } from "../../wireguard/schema.ts";
import { Token } from "./answers.ts";

const { privateKey: Key, addresses: Addresses } = Config.properties.interface.properties;

/** This gateway's session with IVPN. Token and keys are secrets; the account ID itself is not kept. */
const StoredRegistration = Type.Object(
  {
    /** The account ID, masked. */
    account: Type.String({ pattern: "^[*A-Za-z0-9-]{1,32}$" }),
    token: Token,
    privateKey: Key,
    /** A key that was being sent to the provider when something failed; the provider has either key. */
    newKey: Type.Optional(Key),
    addresses: Addresses,
    /** ISO 8601. */
    created: Type.String({ pattern: "^[0-9TZ:.+-]{1,40}$" }),
  },
  { additionalProperties: false },
);
type StoredRegistration = Static<typeof StoredRegistration>;
export type IvpnRegistration = Omit<StoredRegistration, "addresses"> & { addresses: Prefix[] };

const schema = checkerOf(StoredRegistration);

/** Null if the text is not a registration: its contents reach the kernel's tools. */
export function registrationFrom(text: string): IvpnRegistration | null {
  try {
    const value: unknown = JSON.parse(text);
    return schema.Check(value) ? sound(value) : null;
  } catch {
    return null;
  }
}

function sound(stored: StoredRegistration): IvpnRegistration | null {
  const { privateKey, newKey = privateKey, addresses } = stored;
  return addresses.every(isPrefix) && isKey(privateKey) && isKey(newKey) ? { ...stored, addresses } : null;
}
