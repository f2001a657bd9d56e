import { type Command, Option } from "commander";
import type { Settings } from "../../base/settings.ts";
import { MANAGED, OWN_LIST } from "../../servers/schema.ts";
import { command, type Output } from "../api-command.ts";
import { operatorCommand } from "./operator.ts";

const loadAccount = () => import("../account.ts");

/** An account's secrets never travel over plain HTTP: these commands use the operator's socket, or the database directly. */
export function addAccountCommands(program: Command): void {
  const account = command(program, "account", "log in to your VPN account, show it, or log out");
  const login = command(
    account,
    "login",
    "log in: registers this gateway with your account, and asks for the credentials",
  );
  accountCommand(
    login.argument("[provider]", "the provider, such as mullvad; any other word lists them"),
    "mullvad",
    async (settings, provider) => (await loadAccount()).logIn(settings, login.args[0] ?? provider),
  );
  accountCommand(
    command(account, "show", "show until when the account is paid, and this gateway's registration"),
    CURRENT,
    async (settings, provider) => (await loadAccount()).showAccount(settings, provider),
  );
  accountCommand<{ forget?: true }>(
    command(
      account,
      "logout",
      "remove this gateway from the account, and the account from this gateway",
    ).option("--forget", "remove the account here even if the provider does not answer"),
    CURRENT,
    async (settings, provider, { forget }) =>
      (await loadAccount()).logOut(settings, provider, forget === true),
  );
  accountCommand(
    command(account, "rotate-key", "replace this gateway's key"),
    CURRENT,
    async (settings, provider) => (await loadAccount()).rotateKey(settings, provider),
  );
}

const CURRENT = "the current one";

/** `work` gets the provider's name, or null for `otherwise`. */
function accountCommand<Options extends object = object>(
  on: Command,
  otherwise: string,
  work: (settings: Settings, provider: string | null, options: Options) => Promise<Output>,
): void {
  const option = new Option("--provider <provider>", `the account's provider (default: ${otherwise})`);
  operatorCommand<Options & { provider?: string }>(
    on.addOption(option.choices(MANAGED.filter((name) => name !== OWN_LIST))),
    (settings, options) => work(settings, options.provider ?? null, options),
  );
}
