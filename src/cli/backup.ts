import { fstatSync } from "node:fs";
import { type Contents, checkedContents, contentsOf } from "../backup/contents.ts";
import { encrypted, opened, plain } from "../backup/envelope.ts";
import { holdingsOf } from "../backup/holdings.ts";
import { changesBy, holdsAccount, type Permissions, type Restored, restoreInto } from "../backup/restore.ts";
import { CommandError } from "../base/errors.ts";
import { type Change, changeText } from "../base/saved.ts";
import { settingsFrom } from "../base/settings.ts";
import { askOperator } from "../operator/operator.ts";
import { LEAST_PASSPHRASE_CHARACTERS } from "../shared/bounds.ts";
import { hasDatabase } from "../store/database.ts";
import { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import type { Output } from "./api-command.ts";
import { asRoot } from "./root.ts";
import { askSecret, readSecret } from "./secret.ts";
import { printable } from "./text.ts";
import { usage } from "./usage.ts";

interface Flags {
  stateDir: string;
  passphraseFile?: string;
}

export interface ExportFlags extends Flags {
  plain?: true;
}

export interface RestoreFlags extends Flags {
  replace?: true;
  dryRun?: true;
  killswitchOff?: true;
  direct?: true;
  json?: true;
}

type Clock = Pick<Host, "now">;

/** About ten times the size of a full gateway's backup. */
const MAX_BACKUP_BYTES = 67_108_864;

/** Writes a backup to standard output; keys never travel over the HTTP interface. */
export async function exportBackup(clock: Clock, flags: ExportFlags): Promise<void> {
  const stateDir = prepare("export", flags);
  if (process.stdout.isTTY) throw usage("write the backup to a file: portcullis export >backup.json");
  const passphrase = flags.plain ? null : await newPassphrase(flags);
  const contents = (await askOperator(stateDir, "backup", null))?.answer ?? contentsOffline(stateDir, clock);
  const text = passphrase === null ? plain(contents) : await encrypted(contents, passphrase);
  process.stdout.write(text);
  const what = flags.plain ? "the keys are in plain text" : "encrypted";
  process.stderr.write(`Exported ${partsOf(contents)}; ${what}.\n`);
  if (flags.plain && isOpenToOthers())
    process.stderr.write("Other users of this machine can read that file; restrict it with chmod 600.\n");
}

/** Reads a backup from standard input. */
export async function restoreBackup(clock: Clock, flags: RestoreFlags): Promise<Output> {
  const stateDir = prepare("restore", flags);
  if (process.stdin.isTTY)
    throw usage("the backup is read from standard input: portcullis restore <backup.json");
  const text = await standardInput();
  const contents = await checkedContents(await opened(text, () => knownPassphrase(flags)));
  const may = {
    replace: flags.replace === true,
    killswitchOff: flags.killswitchOff === true,
    direct: flags.direct === true,
  };
  const changes = await preview(stateDir, clock, contents, may);
  if (flags.dryRun) return { json: { success: true, changes }, text: changesText(changes) };
  if (!flags.json) process.stderr.write(changesText(changes));
  const live = await askOperator(stateDir, "restore", { contents, may });
  const restored = live?.answer ?? withStore(stateDir, clock, (store) => restoreInto(store, contents, may));
  return { json: { success: true, ...restored }, text: reportOf(restored, contents, live !== null) };
}

async function preview(
  stateDir: string,
  clock: Clock,
  contents: Contents,
  may: Permissions,
): Promise<Change[]> {
  const live = await askOperator(stateDir, "restore/preview", { contents, may });
  if (live !== null) return live.answer;
  if (!hasDatabase(stateDir)) return changesBy({ servers: [], settings: {}, devices: [] }, contents, may);
  return withStore(stateDir, clock, (store) => changesBy(holdingsOf(store), contents, may));
}

/** Throws if the command cannot work here; returns the state directory. */
function prepare(name: string, { stateDir }: Flags): string {
  asRoot(name);
  return settingsFrom({ stateDir }).stateDir;
}

function contentsOffline(stateDir: string, clock: Clock): Contents {
  if (!hasDatabase(stateDir))
    throw new CommandError(
      "unable",
      `${stateDir} holds no gateway state; name another folder with --state-dir`,
    );
  return withStore(stateDir, clock, (store) => {
    if (store.alert !== null) throw new CommandError("unable", store.alert);
    return contentsOf(store, clock.now());
  });
}

function withStore<T>(stateDir: string, clock: Clock, work: (store: Store) => T): T {
  const store = Store.open(stateDir, clock.now());
  try {
    return work(store);
  } finally {
    store.close();
  }
}

async function newPassphrase(flags: Flags): Promise<string> {
  const passphrase = await knownPassphrase(flags);
  if ([...passphrase].length < LEAST_PASSPHRASE_CHARACTERS)
    throw usage(`Passphrase: must have at least ${LEAST_PASSPHRASE_CHARACTERS} characters`);
  if (flags.passphraseFile === undefined && askSecret("Passphrase again") !== passphrase)
    throw usage("Passphrase: the two do not match");
  return passphrase;
}

async function knownPassphrase({ passphraseFile }: Flags): Promise<string> {
  return passphraseFile === undefined ? askSecret("Passphrase") : readSecret(passphraseFile, "Passphrase");
}

async function standardInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of Bun.stdin.stream()) {
    bytes += chunk.length;
    if (bytes > MAX_BACKUP_BYTES) throw new CommandError("unable", "this is too large to be a backup");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function isOpenToOthers(): boolean {
  const output = fstatSync(1);
  return output.isFile() && (output.mode & 0o077) !== 0;
}

function reportOf({ replaced, killswitch }: Restored, contents: Contents, live: boolean): string {
  const lines = [
    `Restored ${partsOf(contents)}${replaced > 0 ? `; replaced ${counted(replaced, "server")}` : ""}.`,
    !live && "No service is running; it will use this state when it starts.",
    contents.settings.killswitch === "off" && KILL_SWITCH[killswitch],
  ];
  return lines
    .filter((line) => line !== false)
    .map((line) => `${line}\n`)
    .join("");
}

/** The messages if the backup was made while the kill switch was off. */
const KILL_SWITCH = {
  on: "The backup was made while the kill switch was off; here it stays on. To turn it off: portcullis killswitch off",
  off: "The kill switch is off. To turn it on: portcullis killswitch on",
};

function partsOf({ servers, settings, tunnels = [], devices = [] }: Contents): string {
  const parts = [
    counted(servers.length, "server"),
    ...(tunnels.length > 0 ? [counted(tunnels.length, "tunnel")] : []),
    ...(devices.length > 0 ? [counted(devices.length, "device")] : []),
    ...(holdsAccount({ settings }) ? ["the account"] : []),
  ];
  return `${parts.join(", ")} and the settings`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** The limit for one kind: enough to see whether it is the right backup; `--json` has all. */
const MAX_OF_A_KIND = 20;

/** The changes of a restore, one line each. */
function changesText(changes: readonly Change[]): string {
  if (changes.length === 0) return "The restore changes nothing.\n";
  const kinds = [...Map.groupBy(changes, ({ what }) => what)];
  const lines = kinds.flatMap(([what, those]) => {
    const more = those.length - MAX_OF_A_KIND;
    return [...those.slice(0, MAX_OF_A_KIND).map(changeText), ...(more > 0 ? [`${what}: ${more} more`] : [])];
  });
  return `The restore changes the following; everything else stays as it is:\n${lines.map((line) => `  ${printable(line)}\n`).join("")}`;
}
