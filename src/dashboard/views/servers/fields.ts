import type { CustomServer } from "../../../servers/schema.ts";
import { say } from "../../language.ts";

export type FieldName = keyof CustomServer;

/** A field of the form, in words for people. */
export interface FieldText {
  name: FieldName;
  label: string;
  hint?: string;
  isOptional?: true;
}

export const FIELDS: readonly FieldText[] = [
  { name: "name", label: say("Name"), hint: say("The name it should have in the list.") },
  { name: "endpoint", label: say("Server"), hint: say("Address and port, such as 203.0.113.11:51820") },
  { name: "public_key", label: say("Public key of the server") },
  { name: "private_key", label: say("Private key of this gateway") },
  {
    name: "address",
    label: say("Addresses of this gateway in the tunnel"),
    hint: say("Such as 10.64.0.11/32"),
  },
  { name: "dns", label: say("DNS servers in the tunnel"), hint: say("Such as 10.64.0.1"), isOptional: true },
  { name: "location", label: say("Place"), hint: say("City, Country"), isOptional: true },
];

/** Few servers need them. */
export const MORE_FIELDS: readonly FieldText[] = [
  { name: "preshared_key", label: say("Preshared key"), isOptional: true },
  {
    name: "allowed_ips",
    label: say("Allowed addresses"),
    hint: say("All, unless you enter some: 0.0.0.0/0, ::/0"),
    isOptional: true,
  },
  {
    name: "persistent_keepalive",
    label: say("Keepalive in seconds"),
    hint: say("0 to 65535"),
    isOptional: true,
  },
  { name: "mtu", label: say("MTU in bytes"), hint: say("576 to 65535"), isOptional: true },
];

const NUMBERS: readonly FieldName[] = ["persistent_keepalive", "mtu"];
const ALL = [...FIELDS, ...MORE_FIELDS];
/** Before anything is typed. */
export const NOTHING = Object.fromEntries(ALL.map(({ name }) => [name, ""])) as Record<FieldName, string>;

/** What the interface takes. Fields that were left empty are left out, and the gateway says which it needs. */
export function bodyOf(texts: Readonly<Record<FieldName, string>>): Record<string, unknown> {
  const filled = ALL.map(({ name }) => [name, texts[name].trim()] as const);
  return Object.fromEntries(
    filled
      .filter(([, text]) => text !== "")
      .map(([name, text]) => [name, NUMBERS.includes(name) && /^\d+$/.test(text) ? Number(text) : text]),
  );
}
