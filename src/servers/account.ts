import { messageOf } from "../errors.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import { interfaceFrom } from "../wireguard/fieldset.ts";
import type { Config } from "../wireguard/schema.ts";
import { FIELDS } from "./custom.ts";

export type ManagedSettings = Pick<
  Settings,
  "managedList" | "managedKeyFile" | "managedAddress" | "managedDns"
>;

/** The own end of every managed tunnel, or what the account lacks. */
export type Account = { interface: Config["interface"] } | { missing: string };

/** Read once, at the start; a fault is told to whoever wants to connect. */
export async function accountOf(host: Pick<Host, "read">, settings: ManagedSettings): Promise<Account> {
  const { managedKeyFile: file, managedAddress: address, managedDns: dns } = settings;
  if (file === null || address.trim() === "") {
    const unset = [
      ...(file === null ? ["--managed-key-file"] : []),
      ...(address.trim() === "" ? ["--managed-address"] : []),
    ];
    return { missing: `the account is not given: set ${unset.join(" and ")}` };
  }
  const key = await host.read(file).catch(() => null);
  if (key === null) return { missing: `the key file that --managed-key-file names, ${file}, cannot be read` };
  const fields = {
    privateKey: [{ text: key.trim(), where: "--managed-key-file" }],
    addresses: [{ text: address, where: "--managed-address" }],
    dns: dns.trim() === "" ? [] : [{ text: dns, where: "--managed-dns" }],
  };
  try {
    return { interface: interfaceFrom(fields, FIELDS) };
  } catch (error) {
    return { missing: `the account is unusable: ${messageOf(error)}` };
  }
}
