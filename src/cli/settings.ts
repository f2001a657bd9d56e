import { type Command, Option } from "commander";
import { FLAGS, type Settings, settingsFrom } from "../settings.ts";

/** Gives a command a flag for each setting; what it is called with besides comes as `options`. */
export function withSettings<Options extends object = object>(
  on: Command,
  action: (settings: Settings, options: Options) => Promise<void>,
): void {
  for (const { name, argument, fallback, help, variable } of Object.values(FLAGS)) {
    const option = new Option(`--${name} ${argument}`, help).env(variable);
    on.addOption(fallback === "" ? option : option.default(fallback));
  }
  on.action((given: Partial<Record<keyof Settings, string>> & Options) => {
    const isSetting = ([key]: [string, unknown]) => key in FLAGS;
    const entries = Object.entries(given);
    const texts = Object.fromEntries(entries.filter(isSetting)) as Partial<Record<keyof Settings, string>>;
    const options = Object.fromEntries(entries.filter((entry) => !isSetting(entry))) as Options;
    return action(settingsFrom(texts), options);
  });
}
