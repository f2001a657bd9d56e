import { CommandError } from "../base/errors.ts";
import { Success } from "../http/answers.ts";
import { Network } from "../http/schema.ts";
import { askOperator } from "../operator/operator.ts";
import { ROUTER_PROTOCOLS } from "../port-mapping/router-protocols.ts";
import { clientFile } from "../remote/client-file.ts";
import { AddedRemoteDevice, type EntryPoint, type RemoteDevice, RemoteStatus } from "../remote/schema.ts";
import { tunnelTitle } from "../shared/words.ts";
import { generateKeyPair } from "../wireguard/key.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { codeOf } from "./code.ts";
import { notRunning } from "./offline.ts";
import { asRoot } from "./root.ts";
import { list, printable, styled } from "./text.ts";
import { usage } from "./usage.ts";

export interface AddRemoteFlags {
  exit?: string;
  /** `false` for `--no-lan`. */
  lan: boolean;
  homeOnly?: true;
  file?: true;
  code?: true;
}

export interface RemoteOnFlags {
  port?: string;
  endpoint?: string;
  through?: string;
}

export async function showRemote(api: Api): Promise<Output> {
  const json = await api.get("/api/remote", RemoteStatus);
  return { json, text: textOf(json) };
}

export async function turnOn(stateDir: string, { port, endpoint, through }: RemoteOnFlags): Promise<Output> {
  asRoot("remote on");
  if (port !== undefined && !/^[1-9][0-9]{0,4}$/.test(port))
    throw usage("--port: must be a number from 1 to 65535");
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
  if (flags.file && flags.code) throw usage("--file and --code: choose one of them");
  if (flags.homeOnly && !flags.lan)
    throw usage("--home-only and --no-lan: choose one of them; with both, nothing would be left to reach");
  if (flags.homeOnly) await assertLan(api);
  const { privateKey, publicKey } = generateKeyPair();
  const added = await api.post("/api/remote/devices", AddedRemoteDevice, {
    name,
    public_key: publicKey,
    ...(flags.exit !== undefined && { exit: flags.exit }),
    lan: flags.lan,
  });
  const file = clientFile(added, privateKey, flags.homeOnly ? "home" : "everything");
  const json = { ...added, file };
  const isCode = flags.code === true || (flags.file !== true && process.stdout.isTTY);
  if (!isCode) return { json, text: file };
  const title = printable(added.name);
  return {
    json,
    text: `${codeOf(file)}\nScan this with the WireGuard app on ${title}. It is shown only once: whoever has it comes in as ${title}.\nFor a file instead: portcullis remote remove ${title}, then portcullis remote add ${title} --file\n`,
  };
}

async function assertLan(api: Api): Promise<void> {
  const { lan } = await api.get("/api/network", Network);
  if (lan.every(({ prefixes }) => prefixes.length === 0))
    throw new CommandError("unable", "--home-only: the gateway has no LAN now, so there is nothing to reach");
}

/** `on` or `off`: whether the device may reach the LAN and the gateway. */
export async function setRemoteLan(api: Api, name: string, state: string): Promise<Output> {
  const lan = state === "on";
  const json = await api.patch(pathOf(name), Success, { lan });
  const may = lan ? "may reach" : "no longer reaches";
  return { json, text: `${printable(name)} ${may} the LAN and the gateway.\n` };
}

export async function removeRemote(api: Api, name: string): Promise<Output> {
  const json = await api.delete(pathOf(name), Success);
  return { json, text: `${printable(name)} no longer comes in.\n` };
}

function pathOf(name: string): string {
  return `/api/remote/devices/${encodeURIComponent(name)}`;
}

function textOf({ on, port, endpoint, through, error, ways, devices }: RemoteStatus): string {
  const rows =
    devices.length === 0
      ? "No device may come in yet; to add one: portcullis remote add <name>\n"
      : list(["Device", "Exit", "State", "LAN", "Address"], devices.map(rowOf));
  if (!on)
    return `Remote access is off: no device away from home can connect.\nTo turn it on: sudo portcullis remote on\n${devices.length === 0 ? "" : rows}`;
  const way = through === null ? "the uplink" : `the ${tunnelTitle(through)}`;
  const where = endpoint === null ? "" : ` They call ${printable(endpoint)}.`;
  const trouble = error === null ? "" : `But no device can come in: ${printable(error)}.\n`;
  const known = ways
    // What is not known yet would only be true for a moment.
    .filter(({ state }) => state !== "asking")
    .map((each) => `- ${wayText(each)}\n`)
    .join("");
  return `Remote access is on: devices come in by ${way}, at UDP port ${port}.${where}\n${known}${trouble}${rows}`;
}

function wayText({ kind, state, endpoint, protocol, error }: EntryPoint): string {
  const by = protocol === null ? "" : ` (${ROUTER_PROTOCOLS[protocol].title})`;
  const at = endpoint === null ? "" : ` ${printable(endpoint)}`;
  const why = error === null ? "" : `: ${printable(error)}`;
  switch (kind) {
    case "own":
      return `the gateway's own address${at}${by}${why}`;
    case "tunnel":
      return `the tunnel's server${at}${why || ", if the provider forwards that port"}`;
    case "router":
      return state === "open" ? `the home router forwards${at}${by}` : `the home router${by}${why}`;
  }
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
