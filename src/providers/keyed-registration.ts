import { type Static, type TObject, type TProperties, Type } from "typebox";
import { isPrefix, type Prefix } from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { objectOf } from "../base/object.ts";
import { isKey } from "../wireguard/key-text.ts";
import { Config } from "../wireguard/schema.ts";

const { privateKey: Key, addresses } = Config.properties.interface.properties;

/** The stored part of a registration whose key serves all servers. The keys are secrets. */
const fields = {
  privateKey: Key,
  /** A key that was being sent to the provider when something failed. The provider has either key. */
  newKey: Type.Optional(Key),
  addresses,
  /** ISO 8601. */
  created: Type.String({ pattern: "^[0-9TZ:.+-]{1,40}$" }),
};
const Keyed = Type.Object(fields);
type Keyed = Omit<Static<typeof Keyed>, "addresses"> & { addresses: Prefix[] };

/** Reads stored registrations that have the provider's own fields besides. Null if a text is not one. */
export function registrationReader<Own extends TProperties>(own: Own) {
  const schema = checkerOf(objectOf({ ...own, ...fields }));
  return (text: string): (Static<TObject<Own>> & Keyed) | null => {
    const value = schema.read(text);
    return value !== null && isSound(value as Static<typeof Keyed>) ? (value as never) : null;
  };
}

/** Its contents reach the kernel's tools. */
function isSound({ privateKey, newKey = privateKey, addresses }: Static<typeof Keyed>): boolean {
  return addresses.every(isPrefix) && isKey(privateKey) && isKey(newKey);
}
