import { type Static, Type } from "typebox";
import { isPrefix, type Prefix } from "../../address.ts";
import { checkerOf } from "../../checker.ts";
import { isKey } from "../../wireguard/key.ts";
import { Config } from "../../wireguard/schema.ts";
import { DeviceId, DeviceName } from "./answers.ts";

const { privateKey: Key, addresses: Addresses } = Config.properties.interface.properties;

/** This gateway's registration with Mullvad. Number and keys are secrets, kept in the store and nowhere else. */
const StoredRegistration = Type.Object(
  {
    number: Type.String({ pattern: "^[0-9]{16}$" }),
    id: DeviceId,
    name: DeviceName,
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
export type MullvadRegistration = Omit<StoredRegistration, "addresses"> & { addresses: Prefix[] };

const schema = checkerOf(StoredRegistration);

/** Null if the text is not a registration. */
export function registrationFrom(text: string): MullvadRegistration | null {
  try {
    const value: unknown = JSON.parse(text);
    return schema.Check(value) ? sound(value) : null;
  } catch {
    return null;
  }
}

/** Null if a part of it is malformed: its contents reach the kernel's tools. */
function sound(stored: StoredRegistration): MullvadRegistration | null {
  const { privateKey, newKey = privateKey, addresses } = stored;
  return addresses.every(isPrefix) && isKey(privateKey) && isKey(newKey) ? { ...stored, addresses } : null;
}
