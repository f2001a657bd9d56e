import { type Command, Option } from "commander";
import { FLAGS } from "../../base/flags.ts";
import type { Settings } from "../../base/settings.ts";
import { type Output, print } from "../api-command.ts";
import { withInstalledSettings } from "../settings.ts";

/** Makes a command run on the gateway, as root, with the settings of the installed service. */
export function operatorCommand<Options extends object = object>(
  on: Command,
  work: (settings: Settings, options: Options) => Promise<Output>,
): void {
  withInstalledSettings<Options & { json?: true }>(on.option("--json", "print JSON"), (settings, options) =>
    print(options.json === true, () => work(settings, options)),
  );
}

/** For commands that need no other setting. */
export function stateDirOption(): Option {
  const { name, argument, help, variable, fallback } = FLAGS.stateDir;
  return new Option(`--${name} ${argument}`, help).env(variable).default(fallback);
}
