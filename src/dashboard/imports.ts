import { signal } from "@preact/signals";
import type { Static } from "typebox";
import type { Imported } from "../http/schema.ts";
import {
  configIn,
  lackOf,
  MAX_CONFIG_BYTES,
  MAX_FILE_BYTES,
  MAX_SERVERS,
  packedConfigs,
  serverNameOf,
} from "../shared/config-files.ts";
import type { FileKind } from "../shared/foreign-files.ts";
import type { GluetunFile } from "../shared/gluetun-file.ts";
import type { WgEasyFile } from "../shared/wg-easy.ts";
import { sentenceFrom } from "../shared/words.ts";
import { entriesOf, isZip, ZipError, type ZipFault } from "../shared/zip.ts";
import { refresh } from "./answers.ts";
import { ApiError, change, read } from "./api.ts";
import { inItsWords } from "./codes.ts";
import { faultIn } from "./fault.ts";
import { ARCHIVE_TEXTS, FILE_TEXTS } from "./file-texts.ts";
import { withoutField } from "./format.ts";
import { say } from "./language.ts";
import type { Answers } from "./store.ts";

/** The gateway takes ten requests a second, of which some are left for the rest of the page. */
const PAUSE_MS = 160;
const RETRY_MS = 1_000;
/** Nobody types names for more files than this. */
const MAX_RENAMED = 20;

const ZIP_FAULTS: Record<ZipFault, string> = {
  damaged: say("The archive is damaged."),
  encrypted: say("It is encrypted. Unpack the archive first."),
  compression: say("Its compression is not supported. Unpack the archive first."),
  large: FILE_TEXTS.large,
};

/** What came of a file, or of a file in an archive. */
export interface Result {
  /** The name of the file; in an archive, after the archive's. */
  file: string;
  /** Null if it was refused. */
  name: string | null;
  /** Why it was refused; or what of it the gateway does in its own way. */
  notes: readonly string[];
  /** Its content, if nothing but the name was refused. */
  config?: string;
  /** The devices of wg-easy, which can come in from outside. Never kept. */
  wgEasy?: WgEasyFile;
  gluetun?: GluetunFile;
}

/** It is neither imported nor refused: what another program has kept is shown. */
export function isOfOther({ wgEasy, gluetun }: Result): boolean {
  return wgEasy !== undefined || gluetun !== undefined;
}

/** An import from its beginning until someone has seen its results. */
export interface Import {
  readonly results: readonly Result[];
  /** How many files are still to come; archives count as one until they are opened. */
  readonly left: number;
  readonly isShown: boolean;
  /** Whether it shows files that are nowhere else. */
  readonly isLastChance?: true;
}

const NOTHING: Import = { results: [], left: 0, isShown: false };

/** The latest import. */
export const current = signal(NOTHING);
let queue: readonly Config[] = [];

/** A file, or one in an archive, before it is read. */
interface Config {
  file: string;
  /** What the server is to be called. */
  name: string;
  /** An archive inside an archive is not opened: one can contain itself. */
  isPacked: boolean;
  open: () => Promise<Uint8Array>;
}

/** Imports WireGuard files and archives of them, one after the other; a failure does not stop the rest. */
export function importFiles(files: Iterable<File>): void {
  const more = [...files].map((file) => ({
    ...{ file: file.name, name: serverNameOf(file.name), isPacked: false },
    open: () => bytesOf(file),
  }));
  if (more.length === 0) return;
  const { results, left } = current.value;
  const isRunning = left > 0;
  queue = [...queue, ...more];
  current.value = { results: isRunning ? results : [], left: left + more.length, isShown: true };
  if (!isRunning) void work();
}

/** A click beside the dialog no longer closes it. */
export function keepOpen(): void {
  current.value = { ...current.value, isLastChance: true };
}

/** What is under way goes on, and is shown again when it has ended. */
export function closeImport(): void {
  current.value = current.value.left > 0 ? { ...current.value, isShown: false } : NOTHING;
}

async function work(): Promise<void> {
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    queue = queue.slice(1);
    const { results, more } = await outcomeOf(next);
    queue = [...more, ...queue];
    const { results: before, isShown } = current.value;
    const isDone = queue.length === 0;
    current.value = { results: [...before, ...results], left: queue.length, isShown: isShown || isDone };
  }
  // Meanwhile the results may be closed, and stay closed.
  await chooseImported();
}

/** The result of a file, or the files in it if it is an archive. */
async function outcomeOf({
  file,
  name,
  isPacked,
  open,
}: Config): Promise<{ results: Result[]; more: Config[] }> {
  try {
    const bytes = await open();
    if (isZip(bytes) && !isPacked) return { results: [], more: configsIn(file, bytes) };
    return { results: [await importOne(file, name, bytes)], more: [] };
  } catch (error) {
    const why =
      error instanceof ZipError
        ? ZIP_FAULTS[error.fault]
        : withoutField(error instanceof Error ? error.message : String(error));
    const isSilent = error instanceof ApiError && error.status === null;
    const notes = isSilent && queue.length > 0 ? [why, say("The files after it were not sent.")] : [why];
    // Without a gateway they would only fail in the same way.
    if (isSilent) queue = [];
    return { results: [{ file, name: null, notes }], more: [] };
  }
}

function configsIn(archive: string, bytes: Uint8Array): Config[] {
  const all = entriesOf(bytes, MAX_CONFIG_BYTES);
  const entries = packedConfigs(all);
  if (entries.length === 0) throw new Error(ARCHIVE_TEXTS[lackOf(all)]);
  if (entries.length > MAX_SERVERS)
    throw new Error(
      say("The archive has more than {most} .conf files, which is more than the gateway keeps.", {
        most: MAX_SERVERS,
      }),
    );
  return entries.map(({ path, ...each }) => ({ file: `${archive}: ${path}`, isPacked: true, ...each }));
}

async function importOne(file: string, name: string, bytes: Uint8Array): Promise<Result> {
  const found = configIn(bytes);
  if ("kind" in found) {
    const other = await ofOther(found.kind, bytes);
    if (other === null) throw new Error(FILE_TEXTS[found.kind]);
    return { file, name: null, notes: [], ...other };
  }
  const { text: config } = found;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  try {
    return await send(file, name, config);
  } catch (error) {
    const fault = faultIn(error instanceof Error ? error.message : "", ["name"]);
    const isMore = current.value.results.filter((each) => each.config !== undefined).length >= MAX_RENAMED;
    if (fault === null || isMore) throw error;
    return { file, name: null, notes: [fault.text], config };
  }
}

async function ofOther(
  kind: FileKind,
  bytes: Uint8Array,
): Promise<Pick<Result, "wgEasy" | "gluetun"> | null> {
  if (bytes.length > MAX_CONFIG_BYTES) return null;
  const text = new TextDecoder().decode(bytes);
  if (kind === "wgeasy") {
    const wgEasy = (await import("../shared/wg-easy.ts")).wgEasyIn(text);
    return wgEasy && { wgEasy };
  }
  if (kind !== "gluetun") return null;
  const gluetun = (await import("../shared/gluetun-file.ts")).gluetunIn(text);
  return gluetun && { gluetun };
}

/** Imports what was refused by another name; its result takes the place of the former one. */
export async function importAs(former: Result, name: string): Promise<void> {
  const result = await send(former.file, name, former.config ?? "");
  const results = current.value.results.map((each) => (each === former ? result : each));
  current.value = { ...current.value, results };
  await chooseImported();
}

async function send(file: string, name: string, config: string): Promise<Result> {
  const { placeIn } = await import("../shared/place-guess.ts");
  const location = placeIn(name);
  const { warnings = [] } = await change<Static<typeof Imported>>("POST", "import", {
    name,
    config,
    ...(location !== null && { location }),
  });
  return { file, name, notes: warnings.map((each) => inItsWords(sentenceFrom(each))) };
}

/** If the current provider has no server that can be used, the imported ones are what is wanted. */
async function chooseImported(): Promise<void> {
  if (current.value.results.every(({ name }) => name === null)) return;
  while (!(await isHeard(chooseIfNeeded))) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
}

async function chooseIfNeeded(): Promise<void> {
  const { usable, current } = await read<Answers["servers/counts"]>("servers/counts");
  if (usable[current] === 0) await change("POST", "provider/imported");
  await refresh("servers/counts");
}

/** Whether the gateway has answered. What it refuses can be chosen in the list of servers, too. */
async function isHeard(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    return !(error instanceof ApiError) || error.status !== null;
  }
}

async function bytesOf(file: File): Promise<Uint8Array> {
  if (file.size > MAX_FILE_BYTES)
    throw new Error(say("It is too large to be a WireGuard configuration or an archive of them."));
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new Error(say("It could not be read. If it is a folder, drop the files in it."));
  }
}
