import { type Address, isHostName } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import { FIELDS } from "../servers/custom.ts";
import type { OwnEnd } from "../servers/managed.ts";
import type { Host } from "../system/host.ts";
import { dnsIn, entriesIn, type Field, fieldOf } from "../wireguard/fields.ts";
import { type Fieldset, interfaceFrom } from "../wireguard/fieldset.ts";
import { isGiven } from "./given.ts";
import { VPN_PROVIDERS } from "./list.ts";
import type { VpnProvider } from "./provider.ts";
import type { Current } from "./registrations.ts";

type OwnEndSettings = Pick<Settings, "managedKeyFile" | "managedAddress" | "managedDns">;

/** This side of every tunnel to a managed server. `missing` is shown when a connect is refused. */
export async function ownEndOf(
  host: Pick<Host, "read">,
  settings: OwnEndSettings,
  current: Current,
): Promise<OwnEnd> {
  const { managedKeyFile: file, managedAddress: address, managedDns: dns } = settings;
  if (current.provider !== null) return registeredEnd(current, dns);
  if (!isGiven(settings)) return { missing: "set --managed-key-file and --managed-address" };
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

function registeredEnd(
  { provider, registration }: Exclude<Current, { provider: null }>,
  dns: string,
): OwnEnd {
  const logIn = `type: sudo portcullis account login${loginOptionOf(provider)}`;
  if (registration === null) return { missing: `${logIn}, or set --managed-key-file and --managed-address` };
  if (registration === "damaged") return { missing: `the stored registration cannot be read; ${logIn}` };
  if (registration.privateKey === null) return usable(() => ({ assigned: { dns: addressesIn(dns) } }));
  return interfaceOf({
    privateKey: [fieldOf(registration.privateKey, "account")],
    addresses: [fieldOf(registration.addresses.join(","), "account")],
    dns: resolversIn(dns.trim() === "" ? registration.dns.join(",") : dns),
  });
}

/** The first provider is the default of a gateway without an account. */
function loginOptionOf({ name }: VpnProvider): string {
  return name === VPN_PROVIDERS[0].name ? "" : ` --provider ${name}`;
}

function resolversIn(dns: string): Field[] {
  return dns.trim() === "" ? [] : [fieldOf(dns, "--managed-dns")];
}

function addressesIn(dns: string): Address[] {
  return resolversIn(dns)
    .flatMap(entriesIn)
    .map(dnsIn)
    .filter((entry) => !isHostName(entry));
}

function interfaceOf(fields: Fieldset): OwnEnd {
  return usable(() => ({ interface: interfaceFrom(fields, FIELDS) }));
}

function usable(work: () => OwnEnd): OwnEnd {
  try {
    return work();
  } catch (error) {
    return { missing: `the account is unusable: ${messageOf(error)}` };
  }
}
