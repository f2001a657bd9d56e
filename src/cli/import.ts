import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { GatewayError, messageOf } from "../errors.ts";
import { Imported } from "../http/schema.ts";
import { MOST_SERVERS } from "../servers/room.ts";
import type { Api } from "./api.ts";
import type { Said } from "./asking.ts";
import { EXIT } from "./exit.ts";
import { printable, styled } from "./text.ts";
import { filesIn, isZip } from "./zip.ts";

/** The gateway accepts no larger body. */
const MAX_CONFIG_BYTES = 65_536;
/** A provider's archive of all its servers has about 2 MB; a video picked by mistake is not read. */
const MAX_FILE_BYTES = 67_108_864;
/** The gateway keeps no more servers, and a provider's archive of all its servers has under 1 MB of configurations. */
const ARCHIVE = { files: MOST_SERVERS, bytesOfFile: MAX_CONFIG_BYTES, bytesInAll: 16_777_216 };

/** A file, or an archive's entry; an error if it cannot be read. */
interface Config {
  /** The path, and the entry's name in an archive. */
  file: string;
  name: string;
  text: string | GatewayError;
}

interface Outcome {
  file: string;
  name: string;
  success: boolean;
  warnings?: string[];
  error?: string;
}

/** Imports wg-quick files and those in archives, one after the other; a failure does not stop the rest. */
export async function importFiles(api: Api, paths: readonly string[], name?: string): Promise<Said> {
  const configs = paths.flatMap(configsIn);
  if (name !== undefined && configs.length !== 1)
    throw new GatewayError("bad_request", `--name: takes one file, but there are ${configs.length}`);
  const files: Outcome[] = [];
  for (const config of configs) files.push(await importOne(api, { ...config, name: name ?? config.name }));
  const failed = files.filter((each) => !each.success).length;
  return {
    json: { success: failed === 0, files },
    text: `${files.map(textOf).join("")}${files.length - failed} imported, ${failed} failed\n`,
    code: failed === 0 ? EXIT.ok : EXIT.failed,
  };
}

async function importOne(api: Api, { file, name, text }: Config): Promise<Outcome> {
  try {
    if (text instanceof GatewayError) throw text;
    const { warnings } = await api.post("/api/import", Imported, { name, config: text });
    return { file, name, success: true, ...(warnings && { warnings }) };
  } catch (error) {
    // Without a gateway the other files would only fail in the same way.
    if (!(error instanceof GatewayError)) throw error;
    return { file, name, success: false, error: error.message };
  }
}

function configsIn(path: string): Config[] {
  try {
    const bytes = read(path);
    if (!isZip(bytes)) return [{ file: path, name: nameFor(path), text: decoded(bytes) }];
    const entries = filesIn(bytes, (name) => /[^/]\.conf$/i.test(name), ARCHIVE);
    if (entries.length === 0) throw new GatewayError("unable", "the archive holds no .conf files");
    return entries.map(({ name, bytes }) => ({
      file: `${path}: ${name}`,
      name: nameFor(name),
      text: decoded(bytes),
    }));
  } catch (cause) {
    return [
      // The line begins with the path, which the message ends with.
      {
        file: path,
        name: nameFor(path),
        text: new GatewayError("unable", messageOf(cause).replace(` (${path})`, ""), { cause }),
      },
    ];
  }
}

function read(path: string): Uint8Array {
  if (statSync(path).size > MAX_FILE_BYTES)
    throw new GatewayError("unable", "is too large to be a configuration or an archive of configurations");
  return readFileSync(path);
}

function decoded(bytes: Uint8Array): string | GatewayError {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    return new GatewayError("unable", "is not UTF-8 text", { cause });
  }
}

/** Some systems store file names in decomposed form; the gateway wants composed form. */
function nameFor(path: string): string {
  return basename(path)
    .replace(/\.conf$/i, "")
    .normalize("NFC");
}

function textOf({ file, name, success, warnings = [], error = "" }: Outcome): string {
  const verdict = success
    ? `${styled("green", "ok")}    ${printable(name)}`
    : `${styled("red", "FAIL")}  ${printable(`${file}: ${error}`)}`;
  return [verdict, ...warnings.map((warning) => `      ${printable(warning)}`)].join("\n").concat("\n");
}
