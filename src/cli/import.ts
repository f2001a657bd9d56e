import { readFileSync, statSync, writeFileSync } from "node:fs";
import { CommandError, GatewayError, messageOf } from "../base/errors.ts";
import { Success } from "../http/answers.ts";
import { Imported } from "../http/schema.ts";
import { clientFile, clientFileName } from "../remote/client-file.ts";
import { AddedRemoteDevice } from "../remote/schema.ts";
import {
  ARCHIVE_WORDS,
  configIn,
  lackOf,
  MAX_CONFIG_BYTES,
  MAX_FILE_BYTES,
  MAX_SERVERS,
  packedConfigs,
  serverNameOf,
} from "../shared/config-files.ts";
import { FILE_WORDS } from "../shared/foreign-files.ts";
import { type GluetunFile, gluetunIn } from "../shared/gluetun-file.ts";
import { placeIn } from "../shared/place-guess.ts";
import { type WgEasyClient, wgEasyIn } from "../shared/wg-easy.ts";
import { entriesOf, isZip, ZipError, type ZipFault } from "../shared/zip.ts";
import { publicKeyOf } from "../wireguard/key.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { EXIT } from "./exit.ts";
import { printable, styled } from "./text.ts";

/** A provider's archive of all its servers has under 1 MB of configurations, and one of a few KiB can claim terabytes. */
const MAX_UNPACKED_BYTES = 16_777_216;

/** A file, or an archive's entry; an error if it cannot be read. */
interface Config {
  /** The path, and the entry's name in an archive. */
  file: string;
  name: string;
  text: string | GatewayError | WgEasyClient;
  /** What a person is to know of it. */
  notes?: readonly string[];
}

interface Outcome {
  file: string;
  name: string;
  success: boolean;
  warnings?: string[];
  error?: string;
}

/** Imports wg-quick files and those in archives, one after the other; a failure does not stop the rest. */
export async function importFiles(api: Api, paths: readonly string[], name?: string): Promise<Output> {
  const configs: Config[] = [];
  for (const path of paths) configs.push(...(await configsIn(path)));
  if (name !== undefined && configs.length !== 1)
    throw new CommandError("bad_request", `--name: takes one file, but there are ${configs.length}`);
  const files: Outcome[] = [];
  for (const config of configs) files.push(await importOne(api, { ...config, name: name ?? config.name }));
  const failed = files.filter((each) => !each.success).length;
  return {
    json: { success: failed === 0, files },
    text: `${files.map(textOf).join("")}${files.length - failed} imported, ${failed} failed\n`,
    code: failed === 0 ? EXIT.ok : EXIT.failed,
  };
}

async function importOne(api: Api, { file, name, text, notes }: Config): Promise<Outcome> {
  try {
    if (text instanceof GatewayError) throw text;
    if (typeof text === "object")
      return { file, name, success: true, warnings: [await bringOver(api, { ...text, name })] };
    const location = placeIn(name);
    const { warnings } = await api.post("/api/import", Imported, {
      name,
      config: text,
      ...(location !== null && { location }),
    });
    return { file, name, success: true, ...(warnings && { warnings }) };
  } catch (error) {
    // Without a gateway the other files would only fail in the same way.
    if (!(error instanceof GatewayError)) throw error;
    return { file, name, success: false, error: error.message, ...(notes && { warnings: [...notes] }) };
  }
}

async function configsIn(path: string): Promise<Config[]> {
  try {
    const bytes = read(path);
    if (isZip(bytes)) return await unpacked(path, bytes);
    return ofOthers(path, bytes) ?? [configOf(path, serverNameOf(path), bytes)];
  } catch (cause) {
    // The line begins with the path, which the message ends with.
    const fault = faultOf(cause).replace(` (${path})`, "");
    return [{ file: path, name: serverNameOf(path), text: unable(fault, cause) }];
  }
}

/** What other programs keep: the clients of wg-easy come over; for gluetun's settings there are commands. */
function ofOthers(path: string, bytes: Uint8Array): Config[] | null {
  if (bytes.length > MAX_CONFIG_BYTES) return null;
  const content = new TextDecoder().decode(bytes);
  const wgEasy = wgEasyIn(content);
  if (wgEasy !== null)
    return [
      ...wgEasy.clients.map((client) => ({
        file: `${path}: ${client.name}`,
        name: client.name,
        text: client,
      })),
      ...wgEasy.left.map((name) => ({ file: `${path}: ${name}`, name, text: unable(NO_CLIENT) })),
    ];
  const gluetun = gluetunIn(content);
  if (gluetun === null) return null;
  return [{ file: path, name: path, text: unable(GLUETUN), notes: commandsOf(gluetun) }];
}

const NO_CLIENT = "is disabled there, or has no private key";
const GLUETUN = "is a file of gluetun: nothing was changed; these commands do what it asks for";

function commandsOf({ provider, commands, hasAccount, left }: GluetunFile): string[] {
  return [
    ...commands,
    ...(hasAccount
      ? []
      : [`for servers of ${provider}, import its WireGuard files: portcullis import FILE.conf`]),
    ...(left.length === 0 ? [] : [`no command here for ${left.join(", ")}`]),
  ];
}

/** The client keeps its keys and gets a new file: the gateway has another key, address and endpoint than wg-easy had. */
async function bringOver(api: Api, { name, privateKey }: WgEasyClient): Promise<string> {
  // Of its private key, not the one in the file: of two keys that do not fit, none would ever come in.
  const public_key = publicKeyOf(privateKey);
  const added = await api.post("/api/remote/devices", AddedRemoteDevice, { name, public_key });
  const path = clientFileName(name);
  try {
    writeFileSync(path, clientFile(added, privateKey, "everything"), { mode: 0o600, flag: "wx" });
  } catch (cause) {
    await api.delete(`/api/remote/devices/${encodeURIComponent(added.name)}`, Success);
    throw unable(`its new file could not be written, so it was not added: ${messageOf(cause)}`, cause);
  }
  return `may come in from outside with its new file ${path}, which the WireGuard app there needs`;
}

function read(path: string): Uint8Array {
  if (statSync(path).size > MAX_FILE_BYTES)
    throw unable("is too large to be a configuration or an archive of configurations");
  return readFileSync(path);
}

async function unpacked(path: string, zip: Uint8Array): Promise<Config[]> {
  const all = entriesOf(zip, MAX_CONFIG_BYTES);
  const entries = packedConfigs(all);
  if (entries.length === 0) throw unable(ARCHIVE_WORDS[lackOf(all)]);
  if (entries.length > MAX_SERVERS) throw unable(`the archive holds more than ${MAX_SERVERS} configurations`);
  const configs: Config[] = [];
  let left = MAX_UNPACKED_BYTES;
  for (const { path: entry, name, open } of entries) {
    const bytes = await open().catch((cause: unknown) =>
      Promise.reject(unable(faultOf(cause, entry), cause)),
    );
    left -= bytes.length;
    if (left < 0) throw unable(`the archive holds more than ${MAX_UNPACKED_BYTES} bytes of configurations`);
    configs.push(configOf(`${path}: ${entry}`, name, bytes));
  }
  return configs;
}

/** The fault of a file, or of `entry` of an archive. */
function faultOf(cause: unknown, entry = ""): string {
  if (!(cause instanceof ZipError)) return messageOf(cause);
  const name = JSON.stringify(entry.slice(0, 100));
  const faults: Record<ZipFault, string> = {
    damaged: "the archive is damaged",
    encrypted: `${name} is encrypted; unpack the archive first`,
    compression: "the archive uses an unsupported compression; unpack it first",
    large: `${name} is larger than ${MAX_CONFIG_BYTES} bytes`,
  };
  return faults[cause.fault];
}

function unable(message: string, cause?: unknown): GatewayError {
  return new CommandError("unable", message, { cause });
}

function configOf(file: string, name: string, bytes: Uint8Array): Config {
  const found = configIn(bytes);
  return { file, name, text: "text" in found ? found.text : unable(FILE_WORDS[found.kind]) };
}

function textOf({ file, name, success, warnings = [], error = "" }: Outcome): string {
  const verdict = success
    ? `${styled("green", "ok")}    ${printable(name)}`
    : `${styled("red", "FAIL")}  ${printable(`${file}: ${error}`)}`;
  return [verdict, ...warnings.map((warning) => `      ${printable(warning)}`)].join("\n").concat("\n");
}
