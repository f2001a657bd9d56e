import { nameIn } from "../base/name.ts";
import { AMNEZIA_NAMES } from "../wireguard/amnezia.ts";
import type { AmneziaName } from "../wireguard/amnezia-schema.ts";
import { fieldOf } from "../wireguard/fields.ts";
import { configFrom, type FieldName, type Fieldset } from "../wireguard/fieldset.ts";
import type { Config } from "../wireguard/schema.ts";
import { refused } from "./refusals.ts";
import type { CustomServer, Server } from "./schema.ts";
import { placeOf } from "./tree.ts";

/** The server that the body of POST /api/custom/add describes. */
export function customServer(body: CustomServer): Server {
  return {
    name: nameIn("name", body.name),
    provider: "custom",
    label: "Custom",
    ...whereIn(body.location),
    config: configOf(body),
  };
}

/** Where a server is, as a person says it. */
export function whereIn(text = ""): Pick<Server, "country" | "city" | "location"> {
  const location = locationIn(text);
  return { ...placeOf(location), location };
}

/** The WireGuard part of the body, by the same rules as an imported file. */
export function configOf(body: Omit<CustomServer, "name" | "location">): Config {
  const fields: Fieldset = Object.fromEntries(
    (Object.keys(FIELDS) as FieldName[]).flatMap((name) => {
      const value = body[FIELDS[name]];
      return value === undefined ? [] : [[name, [fieldOf(String(value), FIELDS[name])]]];
    }),
  );
  return configFrom(fields, FIELDS);
}

/** The name of each field in the HTTP interface. */
export const FIELDS = {
  privateKey: "private_key",
  addresses: "address",
  dns: "dns",
  mtu: "mtu",
  publicKey: "public_key",
  presharedKey: "preshared_key",
  endpoint: "endpoint",
  allowedIps: "allowed_ips",
  persistentKeepalive: "persistent_keepalive",
  ...(Object.fromEntries(AMNEZIA_NAMES.map((name) => [name, name])) as { [Name in AmneziaName]: Name }),
} as const satisfies Record<FieldName, keyof CustomServer>;

const MAX_LOCATION = 200;

/** Free text without control characters, because it is shown in terminals and on web pages. */
function locationIn(location: string): string {
  if (location.length > MAX_LOCATION || !location.isWellFormed() || /\p{Cc}/u.test(location)) {
    throw refused("location_invalid", { max: MAX_LOCATION });
  }
  return location;
}
