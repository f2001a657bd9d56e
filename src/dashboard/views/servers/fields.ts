import type { CustomServer } from "../../../servers/schema.ts";

export type FieldName = keyof CustomServer;

/** A field of the form, in words for people. */
export interface FieldText {
  name: FieldName;
  label: string;
  hint?: string;
  isOptional?: true;
}

export const FIELDS: readonly FieldText[] = [
  { name: "name", label: "Name", hint: "As you want to see it in the list." },
  { name: "endpoint", label: "Server", hint: "Address and port, such as 203.0.113.11:51820" },
  { name: "public_key", label: "Public key of the server" },
  { name: "private_key", label: "Private key of this gateway" },
  { name: "address", label: "Addresses of this gateway in the tunnel", hint: "Such as 10.64.0.11/32" },
  { name: "dns", label: "DNS servers in the tunnel", hint: "Such as 10.64.0.1", isOptional: true },
  { name: "location", label: "Place", hint: "City, Country", isOptional: true },
];

/** Few servers need them. */
export const MORE_FIELDS: readonly FieldText[] = [
  { name: "preshared_key", label: "Preshared key", isOptional: true },
  {
    name: "allowed_ips",
    label: "Allowed addresses",
    hint: "All, unless you enter some: 0.0.0.0/0, ::/0",
    isOptional: true,
  },
  { name: "persistent_keepalive", label: "Keepalive in seconds", hint: "0 to 65535", isOptional: true },
  { name: "mtu", label: "MTU in bytes", hint: "576 to 65535", isOptional: true },
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
