import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { formatPrefix, parsePrefix } from "../address.ts";
import { isKey } from "../wireguard/key.ts";
import { Config } from "../wireguard/schema.ts";
import { DeviceId, DeviceName } from "./mullvad/answers.ts";
import type { Store } from "./store.ts";

const { privateKey: Key, addresses: Addresses } = Config.properties.interface.properties;

/** The gateway as the provider knows it. Number and keys are the operator's secrets: they go nowhere but into the store. */
const Device = Type.Object(
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
export type Device = Static<typeof Device>;

const schema = Compile(Device);

/** The setting that it is kept in. */
export const ACCOUNT = "account";

/** Damaged: there is a text that is no device. It counts as none, but whoever asks is told. */
export type StoredDevice = Device | null | "damaged";

export function storedDevice(store: Pick<Store, "read">): StoredDevice {
  const text = store.read(ACCOUNT);
  return text === null ? null : (deviceFrom(text) ?? "damaged");
}

/** Null where the text is none. */
export function deviceFrom(text: string): Device | null {
  try {
    const value: unknown = JSON.parse(text);
    return schema.Check(value) && isSound(value) ? value : null;
  } catch {
    return null;
  }
}

/** What is in it reaches the kernel's tools. */
function isSound({ privateKey, newKey = privateKey, addresses }: Device): boolean {
  const canonical = addresses.every((text) => {
    const prefix = parsePrefix(text);
    return prefix !== null && formatPrefix(prefix) === text;
  });
  return canonical && isKey(privateKey) && isKey(newKey);
}
