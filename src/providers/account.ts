import { messageOf } from "../errors.ts";
import { FIELDS } from "../servers/custom.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import { type Field, fieldOf } from "../wireguard/fields.ts";
import { type Fieldset, interfaceFrom } from "../wireguard/fieldset.ts";
import type { Config } from "../wireguard/schema.ts";
import type { StoredRegistration } from "./mullvad/registration.ts";

export type ManagedSettings = Pick<
  Settings,
  "managedList" | "managedKeyFile" | "managedAddress" | "managedDns"
>;

/** The own end of every managed tunnel, or what the account lacks. */
export type Account = { interface: Config["interface"] } | { missing: string };

/**
 * What the settings give wins over the device that `portcullis account login` has stored. A fault is told to whoever
 * wants to connect.
 */
export async function accountOf(
  host: Pick<Host, "read">,
  settings: ManagedSettings,
  device: StoredRegistration,
): Promise<Account> {
  const { managedKeyFile: file, managedAddress: address, managedDns: dns } = settings;
  if (file === null && address.trim() === "") return accountWith(device, dns);
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

function accountWith(device: StoredRegistration, dns: string): Account {
  if (device === "damaged") return { missing: `the one that is stored cannot be read; ${LOG_IN}` };
  if (device === null) return { missing: `${LOG_IN}, or set --managed-key-file and --managed-address` };
  return interfaceOf({
    privateKey: [fieldOf(device.privateKey, "account")],
    addresses: [fieldOf(device.addresses.join(","), "account")],
    dns: resolversIn(dns.trim() === "" ? MULLVAD_RESOLVER : dns),
  });
}

const LOG_IN = "type: sudo portcullis account login";

/** Inside every tunnel of Mullvad's; its app's server list names the same. */
const MULLVAD_RESOLVER = "10.64.0.1";

function resolversIn(dns: string): Field[] {
  return dns.trim() === "" ? [] : [fieldOf(dns, "--managed-dns")];
}

function interfaceOf(fields: Fieldset): Account {
  try {
    return { interface: interfaceFrom(fields, FIELDS) };
  } catch (error) {
    return { missing: `the account is unusable: ${messageOf(error)}` };
  }
}
