import { messageOf } from "../errors.ts";
import { FIELDS } from "../servers/custom.ts";
import type { OwnEnd } from "../servers/managed.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import { type Field, fieldOf } from "../wireguard/fields.ts";
import { type Fieldset, interfaceFrom } from "../wireguard/fieldset.ts";
import type { Registered } from "./registrations.ts";

type OwnEndSettings = Pick<Settings, "managedKeyFile" | "managedAddress" | "managedDns">;

/**
 * The own end of every tunnel to a managed server. What the settings give wins over the registration that
 * `portcullis account login` has stored. A fault is told to whoever wants to connect.
 */
export async function ownEndOf(
  host: Pick<Host, "read">,
  settings: OwnEndSettings,
  registered: Registered | null,
): Promise<OwnEnd> {
  const { managedKeyFile: file, managedAddress: address, managedDns: dns } = settings;
  if (!isGiven(settings)) return registeredEnd(registered, dns);
  if (file === null || address.trim() === "") {
    const unset = file === null ? "--managed-key-file" : "--managed-address";
    return { missing: `the account is not given in full: set ${unset} too` };
  }
  const key = await host.read(file).catch(() => null);
  if (key === null) return { missing: `the key file that --managed-key-file names, ${file}, cannot be read` };
  return interfaceOf({
    privateKey: [fieldOf(key.trim(), "--managed-key-file")],
    addresses: [fieldOf(address, "--managed-address")],
    dns: resolversIn(dns),
  });
}

/** Whether the settings give the own end, or a part of it. */
export function isGiven({ managedKeyFile, managedAddress }: OwnEndSettings): boolean {
  return managedKeyFile !== null || managedAddress.trim() !== "";
}

function registeredEnd(registered: Registered | null, dns: string): OwnEnd {
  if (registered === null) return { missing: `${LOG_IN}, or set --managed-key-file and --managed-address` };
  const { registration } = registered;
  if (registration === "damaged") return { missing: `the one that is stored cannot be read; ${LOG_IN}` };
  return interfaceOf({
    privateKey: [fieldOf(registration.privateKey, "account")],
    addresses: [fieldOf(registration.addresses.join(","), "account")],
    dns: resolversIn(dns.trim() === "" ? registration.dns.join(",") : dns),
  });
}

const LOG_IN = "type: sudo portcullis account login";

function resolversIn(dns: string): Field[] {
  return dns.trim() === "" ? [] : [fieldOf(dns, "--managed-dns")];
}

function interfaceOf(fields: Fieldset): OwnEnd {
  try {
    return { interface: interfaceFrom(fields, FIELDS) };
  } catch (error) {
    return { missing: `the account is unusable: ${messageOf(error)}` };
  }
}
