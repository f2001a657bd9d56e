import { CommandError } from "../base/errors.ts";
import { Success } from "../http/answers.ts";
import { Providers } from "../http/schema.ts";
import type { CustomServer, Stored } from "../servers/schema.ts";
import { AMNEZIA_NAMES } from "../wireguard/amnezia.ts";
import type { AmneziaName } from "../wireguard/amnezia-schema.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { readSecret } from "./secret.ts";
import { printable } from "./text.ts";

/** The flags of `add`, as commander names them. */
export interface AddFlags {
  endpoint: string;
  publicKey: string;
  address: string;
  privateKeyFile: string;
  presharedKeyFile?: string;
  dns?: string;
  allowedIps?: string;
  location?: string;
  persistentKeepalive?: string;
  mtu?: string;
  amnezia?: string[];
}

/** Keys come from files, standard input or the terminal, because all users of the machine can see a command line. */
export async function addServer(api: Api, name: string, flags: AddFlags): Promise<Output> {
  const server: CustomServer = {
    name,
    endpoint: flags.endpoint,
    public_key: flags.publicKey,
    address: flags.address,
    ...(flags.dns !== undefined && { dns: flags.dns }),
    ...(flags.allowedIps !== undefined && { allowed_ips: flags.allowedIps }),
    ...(flags.location !== undefined && { location: flags.location }),
    ...(flags.persistentKeepalive !== undefined && {
      persistent_keepalive: numberIn("--persistent-keepalive", flags.persistentKeepalive),
    }),
    ...(flags.mtu !== undefined && { mtu: numberIn("--mtu", flags.mtu) }),
    ...Object.fromEntries((flags.amnezia ?? []).map(settingIn)),
    private_key: (await readSecret(flags.privateKeyFile, "Private key")).trim(),
    ...(flags.presharedKeyFile !== undefined && {
      preshared_key: (await readSecret(flags.presharedKeyFile, "Preshared key")).trim(),
    }),
  };
  const json = await api.post("/api/custom/add", Success, server);
  return { json, text: `Added ${printable(name)} to your own servers.\n` };
}

/** Uses the current provider if none is given. */
export async function removeServer(api: Api, name: string, given?: Stored): Promise<Output> {
  const provider = given ?? (await api.get("/api/providers", Providers)).current;
  if (provider === "managed")
    throw new CommandError(
      "unable",
      "the servers in use are those of the VPN account, which come from its list; pass --provider own or --provider imported",
    );
  const json = await api.delete(`${REMOVE[provider]}/${encodeURIComponent(name)}`, Success);
  return { json, text: `Removed ${printable(name)}.\n` };
}

const REMOVE: Record<Stored, string> = { custom: "/api/custom/remove", imported: "/api/import" };

/** A field of the request, and its value; the gateway judges it. */
function settingIn(text: string): [name: AmneziaName, value: number | string] {
  const [, key = "", value = ""] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  const name = AMNEZIA_NAMES.find((each) => each === key.toLowerCase());
  if (name === undefined)
    throw new CommandError(
      "bad_request",
      `--amnezia: must be one of ${AMNEZIA_NAMES.join(", ")}, as in jc=4`,
    );
  return [name, /^(0|[1-9][0-9]{0,9})$/.test(value) ? Number(value) : value];
}

function numberIn(flag: string, text: string): number {
  if (!/^[0-9]{1,5}$/.test(text)) throw new CommandError("bad_request", `${flag}: must be a whole number`);
  return Number(text);
}
