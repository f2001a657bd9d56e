import { Argument, type Command, Option } from "commander";
import { PROVIDERS, STORED, type Stored } from "../servers/schema.ts";
import { FLAGS, type Settings } from "../settings.ts";
import { asking, command, host, type Said, say } from "./asking.ts";
import type { ExportFlags, RestoreFlags } from "./backup.ts";
import { SHELLS, type Shell } from "./completion/shells.ts";
import type { AddFlags } from "./custom.ts";
import { STANDARD_INPUT } from "./defaults.ts";
import { EXIT } from "./exit.ts";
import type { LogFlags } from "./logs.ts";
import { withInstalledSettings } from "./settings.ts";

// Each command loads what it needs when it runs, as in main.ts.
const loadTunnel = () => import("./tunnel.ts");
const loadBackup = () => import("./backup.ts");
const loadAccount = () => import("./account.ts");
const loadCustom = () => import("./custom.ts");

/** The commands of daily use; they talk to a running gateway. */
export function addDailyCommands(program: Command): void {
  program.commandsGroup("Daily use:");
  addTunnelCommands(program);
  addServerCommands(program);
  addUpdateCommand(program);
  command(program, "logs", "show the service's log, from the journal of this machine")
    .option("-f, --follow", "go on with what is written next")
    .option("-n, --lines <number>", "so many of the latest lines, or all", "100")
    .option("--json", "for scripts, one object a line")
    .action(async (flags: LogFlags) => {
      const { showLogs } = await import("./logs.ts");
      process.exitCode = (await showLogs(host, flags)) === 0 ? EXIT.ok : EXIT.failed;
    });
}

/** A list may have to be fetched beside the tunnel, so it is the operator who asks for it, on the gateway. */
function addUpdateCommand(program: Command): void {
  const servers = program.commands.find((each) => each.name() === "servers") ?? program;
  servers.enablePositionalOptions();
  withInstalledSettings<{ force?: true; json?: true }>(
    command(servers, "update", "fetch the managed provider's list, on the gateway as root")
      .option("--force", "take it even if less than half of the servers are left")
      .option("--json", "for scripts"),
    (settings, { force, json }) =>
      say(json === true, async () => (await import("./update.ts")).updateServers(settings, force === true)),
  );
}

/** The account's secrets, too, go past the HTTP interface. */
export function addAccountCommands(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  const account = command(program, "account", "your account at the managed provider");
  const login = command(account, "login", "register this gateway in your account; asks for what opens it");
  accountCommand(
    login.argument("[provider]", "the provider's name; a wrong one lists those that are known"),
    async (settings) => (await loadAccount()).logIn(settings, login.args[0] ?? null),
  );
  accountCommand(
    command(account, "show", "show the registration, and until when the account is paid for"),
    async (settings) => (await loadAccount()).showAccount(settings),
  );
  accountCommand<{ forget?: true }>(
    command(account, "logout", "remove this gateway from the account, and the account from here").option(
      "--forget",
      "forget it here even where the provider cannot be asked",
    ),
    async (settings, { forget }) => (await loadAccount()).logOut(settings, forget === true),
  );
  accountCommand(command(account, "rotate-key", "give this gateway another key"), async (settings) =>
    (await loadAccount()).rotateKey(settings),
  );
}

function accountCommand<Options extends object = object>(
  on: Command,
  work: (settings: Settings, options: Options) => Promise<Said>,
): void {
  withInstalledSettings<Options & { json?: true }>(on.option("--json", "for scripts"), (settings, options) =>
    say(options.json === true, () => work(settings, options)),
  );
}

/** Backups go past the HTTP interface: by the operator's socket, or straight to the database. */
export function addBackupCommands(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  withPassphrase(command(program, "export", "write servers, keys and settings to standard output, encrypted"))
    .option("--plain", "not encrypted: whoever reads the file has your keys")
    .action(async (flags: ExportFlags) => (await loadBackup()).exportBackup(host, flags));
  withPassphrase(command(program, "restore", "take up what export has written, from standard input"))
    .option("--replace", "replace servers of the same name")
    .option("--killswitch-off", "take the kill switch down where the backup was made with it down")
    .option("--json", "for scripts")
    .action((flags: RestoreFlags) =>
      say(flags.json === true, async () => (await loadBackup()).restoreBackup(host, flags)),
    );
}

function withPassphrase(on: Command): Command {
  const { name, argument, help, variable, fallback } = FLAGS.stateDir;
  return on
    .addOption(new Option(`--${name} ${argument}`, help).env(variable).default(fallback))
    .option("--passphrase-file <file>", "file with the passphrase in its first line (default: asks)");
}

/** Last, so that it knows all the others. */
export function addCompletion(program: Command): void {
  program.commandsGroup("Daily use:");
  command(program, "completion", "print a script that lets a shell complete commands, options and servers")
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action(async (shell: Shell) => {
      const { completionFor } = await import("./completion/completion.ts");
      process.stdout.write(completionFor(shell, program));
    });
}

function addTunnelCommands(program: Command): void {
  asking<{ watch?: true }>(
    command(program, "status", "say how the tunnel and the kill switch are").option(
      "-w, --watch",
      "go on, and show each change",
    ),
    async (api, _, { watch, json }) => {
      if (watch) return (await import("./watch.ts")).watchStatus(api, host, json === true);
      const { readStatus, textOf } = await import("./status.ts");
      const status = await readStatus(api);
      return { json: status, text: textOf(status, host.now()) };
    },
  );
  asking(
    command(
      program,
      "connect",
      "connect to a server of the current provider, or to the nearest of a country or city",
    ).argument("<server>"),
    async (api, [server = ""]) => (await loadTunnel()).connect(api, server),
  );
  asking(command(program, "disconnect", "end the tunnel; the kill switch stays"), async (api) =>
    (await loadTunnel()).disconnect(api),
  );
  asking(command(program, "providers", "list the providers; a star marks the current one"), async (api) =>
    (await loadTunnel()).listProviders(api),
  );
  asking(
    command(program, "use", "make a provider the current one; a live tunnel stays as it is").addArgument(
      new Argument("<provider>").choices(PROVIDERS),
    ),
    async (api, [provider = ""]) => (await loadTunnel()).useProvider(api, provider),
  );
}

function addServerCommands(program: Command): void {
  asking<{ names?: true; places?: true }>(
    command(program, "servers", "list the current provider's servers, by country and city")
      .argument("[country]")
      .argument("[city]")
      .option("--names", "only their names, one a line")
      .option("--places", "only the countries and cities, as connect takes them, one a line"),
    async (api, [country, city], { names, places }) => {
      const { namesTextOf, placesTextOf, readServers, treeTextOf } = await import("./servers.ts");
      const found = await readServers(api, country, city);
      const lines = [...(places ? [placesTextOf(found)] : []), ...(names ? [namesTextOf(found)] : [])];
      return { json: found, text: lines.length > 0 ? lines.join("") : treeTextOf(found) };
    },
  );
  asking<AddFlags>(addCommand(program), async (api, [name = ""], flags) =>
    (await loadCustom()).addServer(api, name, flags),
  );
  asking<{ provider?: Stored }>(
    command(program, "remove", "remove a custom server or an imported configuration")
      .argument("<name>")
      .addOption(
        new Option("--provider <provider>", "whose it is (default: the current one)").choices(STORED),
      ),
    async (api, [name = ""], { provider }) => (await loadCustom()).removeServer(api, name, provider),
  );
  asking<{ name?: string }>(
    command(program, "import", "import WireGuard configurations: wg-quick files, and .zip archives of them")
      .argument("<file...>")
      .option("--name <name>", "the server's name, where there is one file (default: the file's name)"),
    async (api, files, { name }) => (await import("./import.ts")).importFiles(api, files, name),
  );
  asking(command(program, "keypair", "make a new pair of keys; it is kept nowhere"), async (api) =>
    (await loadTunnel()).makeKeyPair(api),
  );
}

function addCommand(program: Command): Command {
  const secret = (flags: string, what: string) =>
    new Option(
      flags,
      `file with ${what} in its first line; ${STANDARD_INPUT} reads a line of standard input, or asks`,
    );
  return command(program, "add", "add a server of your own; keys are never given on the command line")
    .argument("<name>")
    .requiredOption("--endpoint <host:port>", "the server's address and port; IPv6 in brackets")
    .requiredOption("--public-key <key>", "the server's public key")
    .requiredOption("--address <CIDRs>", "your addresses in the tunnel, comma-separated")
    .addOption(secret("--private-key-file <file>", "your private key").default(STANDARD_INPUT))
    .addOption(secret("--preshared-key-file <file>", "the preshared key"))
    .option("--dns <addresses>", "resolvers, comma-separated")
    .option("--allowed-ips <CIDRs>", "what the server carries (default: everything)")
    .option("--location <text>", "City, Country")
    .option("--persistent-keepalive <seconds>", "0 is off")
    .option("--mtu <bytes>", "largest packet in the tunnel");
}
