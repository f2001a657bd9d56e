import { GatewayError } from "../errors.ts";
import { FLAGS, type Settings } from "../settings.ts";

/** Text of each setting that is given; the others have their default. */
export type Given = Partial<Record<keyof Settings, string>>;

/** What an installation decides itself. */
const FIXED: readonly (keyof Settings)[] = ["stateDir", "netns"];

/** The settings that `install` takes, in the order of the command line. */
export const INSTALLABLE = (Object.keys(FLAGS) as (keyof Settings)[]).filter((key) => !FIXED.includes(key));

/** The environment file (systemd.exec(5), EnvironmentFile) with `given` in it; what else `present` says stays. */
export function environmentWith(present: string | null, given: Given): string {
  let text = present ?? template();
  for (const key of INSTALLABLE) {
    const value = given[key];
    if (value === undefined) continue;
    const { name, variable } = FLAGS[key];
    const line = `${variable}=${quoted(name, value)}`;
    const there = new RegExp(`^#?${variable}=.*$`, "m");
    text = there.test(text) ? text.replace(there, () => line) : `${text.trimEnd()}\n${line}\n`;
  }
  return text;
}

/** What an environment file gives. */
export function givenIn(text: string): Given {
  const given: Given = {};
  for (const key of INSTALLABLE) {
    const value = new RegExp(`^${FLAGS[key].variable}=(.*)$`, "m").exec(text)?.[1]?.trim();
    if (value !== undefined) given[key] = value.replace(/^"(.*)"$/, "$1");
  }
  return given;
}

function template(): string {
  const entries = INSTALLABLE.map((key) => FLAGS[key]).map(
    ({ variable, fallback, help }) => `# ${help}\n#${variable}=${fallback}\n`,
  );
  return `# Settings of Portcullis. After a change: sudo systemctl restart portcullis\n\n${entries.join("\n")}`;
}

/** Systemd takes quotes, backslashes and ends of lines for its own. */
function quoted(name: string, value: string): string {
  if (/^[A-Za-z0-9_.,:/@%+-]*$/.test(value)) return value;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/["'\\$`\x00-\x1f\x7f]/.test(value)) {
    throw new GatewayError(
      "bad_request",
      `--${name}: quotes, backslashes and control characters are not allowed`,
    );
  }
  return `"${value}"`;
}
