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
 * This side of every tunnel to a managed server. The settings take precedence over the registration that `portcullis
 * account login` has stored. `missing` is shown when a connect is refused.
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
    return { missing: `the account in the settings is incomplete: set ${unset} too` };
  }
  const key = await host.read(file).catch(() => null);
  if (key === null) return { missing: `the key file ${file} (--managed-key-file) cannot be read` };
  return interfaceOf({
    privateKey: [fieldOf(key.trim(), "--managed-key-file")],
    addresses: [fieldOf(address, "--managed-address")],
    dns: resolversIn(dns),
  });
}

/** Whether the settings give this side of the tunnel, or a part of it. */
export function isGiven({ managedKeyFile, managedAddress }: OwnEndSettings): boolean {
  return managedKeyFile !== null || managedAddress.trim() !== "";
}

function registeredEnd(registered: Registered | null, dns: string): OwnEnd {
  if (registered === null) return { missing: `${LOG_IN}, or set --managed-key-file and --managed-address` };
  const { registration } = registered;
  if (registration === "damaged") return { missing: `the stored registration cannot be read; ${LOG_IN}` };
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
