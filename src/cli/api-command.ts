import { type Command, Option } from "commander";
import { version } from "../../package.json";
import { messageOf } from "../base/errors.ts";
import { LinuxHost } from "../system/linux.ts";
import type { Api } from "./api.ts";
import { DEFAULT_URL } from "./defaults.ts";
import { EXIT, exitCodeOf } from "./exit.ts";

/** What a command prints: JSON for scripts, text for people. */
export interface Output {
  json: unknown;
  text: string;
  /** The exit code if it is not `EXIT.ok`. */
  code?: number;
}

export const host = new LinuxHost();

export function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .version(`portcullis ${version}`, "-V, --version")
    .exitOverride()
    .allowExcessArguments(false);
}

/** Makes a command talk to the gateway; `args` are its operands as typed. */
export function apiCommand<Flags extends object = object>(
  on: Command,
  work: (api: Api, args: readonly string[], flags: Flags & { json?: true }) => Promise<Output>,
): void {
  on.addOption(
    new Option("--url <address>", "address of the gateway").env("PORTCULLIS_URL").default(DEFAULT_URL),
  )
    .addOption(tokenFileOption())
    .option("--json", "print the gateway's answer as JSON");
  on.action(async () => {
    const flags = on.opts<Flags & { url: string; tokenFile?: string; json?: true }>();
    await print(flags.json === true, async () => {
      const [{ Api }, { givenToken }] = await Promise.all([import("./api.ts"), import("./bearer.ts")]);
      return work(new Api(flags.url, host, await givenToken(flags.tokenFile)), on.args, flags);
    });
  });
}

export function tokenFileOption(): Option {
  const help = "file with the token on its first line, if the gateway needs one (or PORTCULLIS_TOKEN)";
  return new Option("--token-file <file>", help).env("PORTCULLIS_TOKEN_FILE");
}

/** With --json the outcome is one JSON value on standard output, even if it is a failure. */
export async function print(json: boolean, work: () => Promise<Output>): Promise<void> {
  try {
    const said = await work();
    process.stdout.write(json ? `${JSON.stringify(said.json)}\n` : said.text);
    process.exitCode = said.code ?? EXIT.ok;
  } catch (error) {
    if (!json) throw error;
    process.stdout.write(`${JSON.stringify({ success: false, error: messageOf(error) })}\n`);
    process.exitCode = exitCodeOf(error);
  }
}
