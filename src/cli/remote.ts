import { GatewayError } from "../base/errors.ts";
import { Success } from "../http/answers.ts";
import { askOperator } from "../operator/operator.ts";
import { AddedRemoteDevice, type RemoteDevice, RemoteStatus } from "../remote/schema.ts";
import { tunnelTitle } from "../shared/words.ts";
import { formatConfig } from "../wireguard/config.ts";
import { generateKeyPair } from "../wireguard/key.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { codeOf } from "./code.ts";
import { asRoot } from "./root.ts";
import { list, printable, styled } from "./text.ts";

export interface AddRemoteFlags {
  exit?: string;
  /** False for --no-lan. */
  lan: boolean;
  file?: true;
  code?: true;
}

export interface RemoteOnFlags {
  port?: string;
  endpoint?: string;
  through?: string;
}

/** Keeps the way through a home router open while nothing is sent. */
const KEEPALIVE_SECONDS = 25;

export async function showRemote(api: Api): Promise<Output> {
  const json = await api.get("/api/remote", RemoteStatus);
  return { json, text: textOf(json) };
}

export async function turnOn(stateDir: string, { port, endpoint, through }: RemoteOnFlags): Promise<Output> {
  asRoot("remote on");
  if (port !== undefined && !/^[1-9][0-9]{0,4}$/.test(port))
    throw new GatewayError("bad_request", "--port: must be a number from 1 to 65535");
  const live = await askOperator(stateDir, "remote/on", {
    port: port === undefined ? null : Number(port),
    endpoint: endpoint ?? null,
    through: through ?? null,
  });
  const json = (live ?? notRunning()).answer;
  return { json, text: textOf(json) };
}

export async function turnOff(stateDir: string): Promise<Output> {
  asRoot("remote off");
  const json = ((await askOperator(stateDir, "remote/off", null)) ?? notRunning()).answer;
  return { json, text: textOf(json) };
}

/** The device's private key is made here: the gateway gets the public one, and nobody keeps the private one. */
export async function addRemote(api: Api, name: string, flags: AddRemoteFlags): Promise<Output> {
  if (flags.file && flags.code)
    throw new GatewayError("bad_request", "--file and --code: choose one of them");
  const { privateKey, publicKey } = generateKeyPair();
  const added = await api.post("/api/remote/devices", AddedRemoteDevice, {
    name,
    public_key: publicKey,
    ...(flags.exit !== undefined && { exit: flags.exit }),
    lan: flags.lan,
  });
  const file = fileOf(added, privateKey);
  const json = { ...added, file };
  const isCode = flags.code === true || (flags.file !== true && process.stdout.isTTY);
  if (!isCode) return { json, text: file };
  const title = printable(added.name);
  return {
    json,
    text: `${codeOf(file)}\nScan this with the WireGuard app on ${title}. It is shown only once: whoever has it comes in as ${title}.\nFor a file instead: portcullis remote remove ${title}, then portcullis remote add ${title} --file\n`,
  };
}

export async function removeRemote(api: Api, name: string): Promise<Output> {
  const json = await api.delete(`/api/remote/devices/${encodeURIComponent(name)}`, Success);
  return { json, text: `${printable(name)} no longer comes in.\n` };
}

/** A file for wg-quick and for WireGuard's apps. */
function fileOf(added: AddedRemoteDevice, privateKey: string): string {
  const { addresses, dns, mtu, public_key, preshared_key, endpoint, allowed_ips } = added;
  return formatConfig({
    interface: { privateKey, addresses, dns, searchDomains: [], mtu },
    peer: {
      publicKey: public_key,
      presharedKey: preshared_key,
      endpoint,
      allowedIps: allowed_ips,
      persistentKeepalive: KEEPALIVE_SECONDS,
    },
  });
}

function textOf({ on, port, endpoint, through, error, devices }: RemoteStatus): string {
  const rows =
    devices.length === 0
      ? "No device may come in yet; to add one: portcullis remote add <name>\n"
      : list(["Device", "Exit", "State", "LAN", "Address"], devices.map(rowOf));
  if (!on)
    return `Remote access is off: no device comes in from the road.\nTo turn it on: sudo portcullis remote on\n${devices.length === 0 ? "" : rows}`;
  const way = through === null ? "the uplink" : `the ${tunnelTitle(through)}`;
  const where = endpoint === null ? "" : ` They call ${printable(endpoint)}.`;
  const trouble = error === null ? "" : `But no device can come in: ${printable(error)}.\n`;
  return `Remote access is on: devices come in by ${way}, at UDP port ${port}.${where}\n${trouble}${rows}`;
}

function rowOf({ id, name, addresses, exit, lan, online }: RemoteDevice): string[] {
  return [
    styled("cyan", printable(name) || id),
    exit,
    online ? styled("green", "online") : styled("dim", "offline"),
    lan ? "yes" : "no",
    addresses[0] ?? "",
  ];
}

function notRunning(): never {
  throw new GatewayError("unable", "the service does not run; to start it: sudo systemctl start portcullis");
}
