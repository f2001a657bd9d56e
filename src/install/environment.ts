import { CommandError, messageOf } from "../base/errors.ts";
import { FLAGS } from "../base/flags.ts";
import { type Settings, settingsFrom } from "../base/settings.ts";
import { PATHS } from "./paths.ts";

/** The text of each given setting; the others have their defaults. */
export type GivenSettings = Partial<Record<keyof Settings, string>>;

/** The settings that `install` takes, in the order of the command line; it decides itself where its state is. */
export const INSTALLABLE = (Object.keys(FLAGS) as (keyof Settings)[]).filter((key) => key !== "stateDir");

/** The environment file (systemd.exec(5), EnvironmentFile) with `given` in it; the rest of `present` stays. */
export function environmentWith(present: string | null, given: GivenSettings): string {
  let text = present ?? template();
  for (const key of INSTALLABLE) {
    const value = given[key];
    if (value === undefined) continue;
    const { name, variable } = FLAGS[key];
    text = withLine(text, variable, `${variable}=${quoted(name, value)}`);
  }
  return text;
}

/** The settings in an environment file, as systemd reads it: the last line of a variable counts. */
export function givenIn(text: string): GivenSettings {
  const given: GivenSettings = {};
  for (const key of INSTALLABLE) {
    const value = [...text.matchAll(new RegExp(`${assignmentOf(FLAGS[key].variable)}(.*)$`, "gm"))].at(
      -1,
    )?.[1];
    if (value !== undefined) given[key] = value.trim().replace(/^(["'])(.*)\1$/, "$2");
  }
  return given;
}

/** Like `settingsFrom`, but flags override the file, and an error in the file names the file. */
export function settingsWith(file: GivenSettings, flags: GivenSettings): Settings {
  settingsFrom(flags);
  try {
    return settingsFrom({ ...file, ...flags });
  } catch (cause) {
    throw new CommandError("bad_request", `in ${PATHS.environment}: ${messageOf(cause)}`, { cause });
  }
}

/** The base name of the tunnel's interfaces, for uninstalling: errors in the file must not prevent that. */
export function interfaceIn(text: string): string {
  return settingIn(text, "interface")?.interface ?? FLAGS.interface.fallback;
}

/** A port of the installed service; null if it has none, or the file has no valid one. */
export function portIn(text: string, key: "port" | "https"): number | null {
  return settingIn(text, key)?.[key] ?? null;
}

/** The settings that follow from this one alone; null if it is not valid. */
function settingIn(text: string, key: keyof Settings): Settings | null {
  const value = givenIn(text)[key];
  try {
    return settingsFrom(value === undefined ? {} : { [key]: value });
  } catch {
    return null;
  }
}

/** The line replaces all lines of its variable, or the template's line. */
function withLine(text: string, variable: string, line: string): string {
  const gives = new RegExp(assignmentOf(variable));
  const lines = text.trimEnd().split("\n");
  const given = lines.findIndex((one) => gives.test(one));
  const at = given >= 0 ? given : lines.findIndex((one) => one.startsWith(`#${variable}=`));
  const kept = lines
    .map((one, index) => (index === at ? line : one))
    .filter((one, index) => index === at || !gives.test(one));
  return `${[...kept, ...(at < 0 ? [line] : [])].join("\n")}\n`;
}

function assignmentOf(variable: string): string {
  return `^[ \\t]*${variable}[ \\t]*=`;
}

function template(): string {
  const entries = INSTALLABLE.map((key) => FLAGS[key]).map(
    ({ variable, fallback, help }) => `# ${help}\n#${variable}=${fallback}\n`,
  );
  return `# Settings of Portcullis. After a change: sudo systemctl restart portcullis\n\n${entries.join("\n")}`;
}

/** Systemd interprets quotes, backslashes and line ends. */
function quoted(name: string, value: string): string {
  if (/^[A-Za-z0-9_.,:/@%+-]*$/.test(value)) return value;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/["'\\$`\x00-\x1f\x7f]/.test(value)) {
    throw new CommandError(
      "bad_request",
      `--${name}: quotes, backslashes and control characters are not allowed`,
    );
  }
  return `"${value}"`;
}
