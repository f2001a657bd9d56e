import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { FLAGS } from "../base/flags.ts";
import type { Settings } from "../base/settings.ts";
import { type GivenSettings, givenIn, settingsWith } from "../install/environment.ts";
import { PATHS } from "../install/paths.ts";

/** Gives a command a flag for each setting; its other flags are passed on as `options`. */
export function withSettings<Options extends object = object>(
  on: Command,
  action: (settings: Settings, options: Options) => Promise<void>,
): void {
  addFlags(on);
  on.action(() => {
    const given = on.opts<GivenSettings & Options>();
    const [file, all] = [installed(), settingsIn(given)];
    // The unit passes the installed file to the service as environment variables.
    const isOfFile = (key: keyof GivenSettings) =>
      on.getOptionValueSource(key) === "env" && file[key] === all[key];
    const settings = settingsWith(
      part(all, isOfFile),
      part(all, (key) => !isOfFile(key)),
    );
    return action(settings, othersIn(given));
  });
}

/**
 * Like `withSettings`, but a setting without a flag or an environment variable is the installed service's. Such commands
 * rarely need one, so their help does not list them.
 */
export function withInstalledSettings<Options extends object = object>(
  on: Command,
  action: (settings: Settings, options: Options) => Promise<void>,
): void {
  addFlags(on, true);
  on.addHelpText(
    "after",
    "\nSettings are those of the installed service; portcullis serve --help lists them.",
  );
  on.action(() => {
    const given = on.opts<GivenSettings & Options>();
    const said = part(settingsIn(given), (key) => on.getOptionValueSource(key) !== "default");
    return action(settingsWith(installed(), said), othersIn(given));
  });
}

/** If its value is optional and missing, a flag turns its setting on. One that may be repeated makes a list. */
export function optionFor(flag: (typeof FLAGS)[keyof Settings]): Option {
  const { name, argument, help } = flag;
  const option = new Option(`--${name} ${argument}`, help);
  if ("isRepeatable" in flag)
    option.argParser((value: string, before?: string) =>
      before === undefined ? value : `${before},${value}`,
    );
  return argument.startsWith("[") ? option.preset("on") : option;
}

function addFlags(on: Command, isHidden = false): void {
  for (const flag of Object.values(FLAGS)) {
    const option = optionFor(flag).env(flag.variable).hideHelp(isHidden);
    on.addOption(flag.fallback === "" ? option : option.default(flag.fallback));
  }
}

function settingsIn(given: GivenSettings): GivenSettings {
  return Object.fromEntries(Object.entries(given).filter(([key]) => key in FLAGS));
}

function part(given: GivenSettings, belongs: (key: keyof GivenSettings) => boolean): GivenSettings {
  return Object.fromEntries(Object.entries(given).filter(([key]) => belongs(key as keyof GivenSettings)));
}

function othersIn<Options extends object>(given: GivenSettings & Options): Options {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !(key in FLAGS))) as Options;
}

/** Empty if there is no installation, or this user may not read its settings. */
function installed(): GivenSettings {
  try {
    return givenIn(readFileSync(PATHS.environment, "utf8"));
  } catch {
    return {};
  }
}
