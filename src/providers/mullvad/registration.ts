import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { formatPrefix, parsePrefix } from "../../address.ts";
import { isKey } from "../../wireguard/key.ts";
import { Config } from "../../wireguard/schema.ts";
import { DeviceId, DeviceName } from "./answers.ts";

const { privateKey: Key, addresses: Addresses } = Config.properties.interface.properties;

/** This gateway's registration with Mullvad. Number and keys are secrets, kept in the store and nowhere else. */
const MullvadRegistration = Type.Object(
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
export type MullvadRegistration = Static<typeof MullvadRegistration>;

const schema = Compile(MullvadRegistration);

/** Null if the text is not a registration. */
export function registrationFrom(text: string): MullvadRegistration | null {
  try {
    const value: unknown = JSON.parse(text);
    return schema.Check(value) && isSound(value) ? value : null;
  } catch {
    return null;
  }
}

/** Its contents reach the kernel's tools. */
function isSound({ privateKey, newKey = privateKey, addresses }: MullvadRegistration): boolean {
  const canonical = addresses.every((text) => {
    const prefix = parsePrefix(text);
    return prefix !== null && formatPrefix(prefix) === text;
  });
  return canonical && isKey(privateKey) && isKey(newKey);
}
