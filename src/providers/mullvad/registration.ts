import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { formatPrefix, parsePrefix } from "../../address.ts";
import type { Store } from "../../store/store.ts";
import { isKey } from "../../wireguard/key.ts";
import { Config } from "../../wireguard/schema.ts";
import { DeviceId, DeviceName } from "./answers.ts";

const { privateKey: Key, addresses: Addresses } = Config.properties.interface.properties;

/** The gateway as the provider knows it. Number and keys are the operator's secrets: they go nowhere but into the store. */
const Registration = Type.Object(
  {
    number: Type.String({ pattern: "^[0-9]{16}$" }),
    id: DeviceId,
    name: DeviceName,
    privateKey: Key,
    /** A key that was on its way to the provider when something failed; the provider has this one or the other. */
    newKey: Type.Optional(Key),
    addresses: Addresses,
    /** ISO 8601. */
    created: Type.String({ pattern: "^[0-9TZ:.+-]{1,40}$" }),
  },
  { additionalProperties: false },
);
export type Registration = Static<typeof Registration>;

const schema = Compile(Registration);

/** The setting that it is kept in. */
export const ACCOUNT = "account";

/** Damaged: there is a text that is no device. It counts as none, but whoever asks is told. */
export type StoredRegistration = Registration | null | "damaged";

export function storedRegistration(store: Pick<Store, "read">): StoredRegistration {
  const text = store.read(ACCOUNT);
  return text === null ? null : (registrationFrom(text) ?? "damaged");
}

/** Null where the text is none. */
export function registrationFrom(text: string): Registration | null {
  try {
    const value: unknown = JSON.parse(text);
    return schema.Check(value) && isSound(value) ? value : null;
  } catch {
    return null;
  }
}

/** What is in it reaches the kernel's tools. */
function isSound({ privateKey, newKey = privateKey, addresses }: Registration): boolean {
  const canonical = addresses.every((text) => {
    const prefix = parsePrefix(text);
    return prefix !== null && formatPrefix(prefix) === text;
  });
  return canonical && isKey(privateKey) && isKey(newKey);
}
