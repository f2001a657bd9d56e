import { Argument, type Command, Option } from "commander";
import {
  MANAGED,
  type Managed,
  OWN_LIST,
  PROVIDERS,
  type Provider,
  STORED,
  type Stored,
} from "../servers/schema.ts";
import { FLAGS, type Settings } from "../settings.ts";
import { asking, command, host, type Said, say, tokenFileOption } from "./asking.ts";
import type { ExportFlags, RestoreFlags } from "./backup.ts";
import { SHELLS, type Shell } from "./completion/shells.ts";
import type { AddFlags } from "./custom.ts";
import { STANDARD_INPUT } from "./defaults.ts";
import { EXIT } from "./exit.ts";
import type { ForwardFlags } from "./forwards.ts";
import type { HistoryFlags } from "./history.ts";
import type { LogFlags } from "./logs.ts";
import type { ScheduleFlags } from "./schedules.ts";
import { withInstalledSettings } from "./settings.ts";
import type { UpdateFlags } from "./update.ts";

// Each command loads what it needs when it runs, as in main.ts.
const loadTunnel = () => import("./tunnel.ts");
const loadTunnels = () => import("./tunnels.ts");
const loadBackup = () => import("./backup.ts");
const loadAccount = () => import("./account.ts");
const loadDirect = () => import("./direct.ts");
const loadDevices = () => import("./devices.ts");
const loadToken = () => import("./token.ts");
const loadForwards = () => import("./forwards.ts");
const loadSchedules = () => import("./schedules.ts");
const loadCustom = () => import("./custom.ts");

/** Commands for daily use, which talk to a running gateway. */
export function addDailyCommands(program: Command): void {
  program.commandsGroup("Daily use:");
  addTunnelCommands(program);
  addServerCommands(program);
  addDeviceCommands(program);
  addHistoryCommand(program);
  addScheduleCommands(program);
  addServersUpdate(program);
  addCheckCommand(program);
  command(program, "logs", "show the service's log from this machine's journal")
    .option("-f, --follow", "keep printing new lines")
    .option("-n, --lines <number>", "how many of the latest lines to show, or all", "100")
    .option("--json", "print JSON, one object a line")
    .action(async (flags: LogFlags) => {
      const { showLogs } = await import("./logs.ts");
      process.exitCode = (await showLogs(host, flags)) === 0 ? EXIT.ok : EXIT.failed;
    });
}

/** For people who need help: it works without a service too. */
function addCheckCommand(program: Command): void {
  withInstalledSettings<{ url?: string; tokenFile?: string; json?: true; report?: true }>(
    command(program, "check", "look for what is wrong, and say what to do; exit code 1 if there is a fault")
      .addOption(
        new Option("--url <address>", "address of the gateway (default: this machine's)").env(
          "PORTCULLIS_URL",
        ),
      )
      .addOption(tokenFileOption())
      .option("--json", "print JSON")
      .option(
        "--report",
        "print a text to share, without secrets, addresses and names (on the gateway, as root)",
      ),
    (settings, { url, tokenFile, json, report }) =>
      say(json === true, async () =>
        report
          ? (await import("./report.ts")).report(settings)
          : (await import("./check.ts")).check(settings, url ?? null, tokenFile),
      ),
  );
}

/** The list may have to be fetched outside the tunnel, so only root on the gateway can ask for it. */
function addServersUpdate(program: Command): void {
  const servers = program.commands.find((each) => each.name() === "servers") ?? program;
  servers.enablePositionalOptions();
  withInstalledSettings<{ force?: true; json?: true }>(
    command(servers, "update", "fetch the managed provider's list (on the gateway, as root)")
      .option("--force", "accept a list with less than half of the present servers")
      .option("--json", "print JSON"),
    (settings, { force, json }) =>
      say(json === true, async () =>
        (await import("./servers-update.ts")).updateServers(settings, force === true),
      ),
  );
}

/** Root, because it replaces the program. */
export function addProgramUpdate(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  command(program, "update", "verify a release, show what is new, and upgrade this machine")
    .argument(
      "<file>",
      "the release's folder or one of its archives: a path, or an https address, which ends with / for a folder",
    )
    .option("--check", `only look; exit code ${EXIT.newer} if it is newer than what is here`)
    .option("--yes", "do not ask")
    .option("--json", "with --check: print JSON")
    .addOption(stateDirOption())
    .action((place: string, flags: UpdateFlags) =>
      say(flags.json === true, async () => (await import("./update.ts")).updateProgram(place, flags)),
    );
}

/** An account's secrets never travel over the HTTP interface. */
export function addAccountCommands(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  const account = command(program, "account", "manage your account at the managed provider");
  const login = command(
    account,
    "login",
    "register this gateway with your account; asks for the credentials",
  );
  accountCommand(
    login.argument("[provider]", "the provider's name; an unknown one lists those that are known"),
    "mullvad",
    async (settings, provider) => (await loadAccount()).logIn(settings, login.args[0] ?? provider),
  );
  accountCommand(
    command(account, "show", "show the registration, and until when the account is paid"),
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

/** With the provider's name, or null for `otherwise`. */
function accountCommand<Options extends object = object>(
  on: Command,
  otherwise: string,
  work: (settings: Settings, provider: string | null, options: Options) => Promise<Said>,
): void {
  const option = new Option("--provider <provider>", `the account's provider (default: ${otherwise})`);
  operatorCommand<Options & { provider?: string }>(
    on.addOption(option.choices(MANAGED.filter((name) => name !== OWN_LIST))),
    (settings, options) => work(settings, options.provider ?? null, options),
  );
}

function operatorCommand<Options extends object = object>(
  on: Command,
  work: (settings: Settings, options: Options) => Promise<Said>,
): void {
  withInstalledSettings<Options & { json?: true }>(on.option("--json", "print JSON"), (settings, options) =>
    say(options.json === true, () => work(settings, options)),
  );
}

const WANTED = ["on", "off"] as const;

/** A hole in the kill switch: only root on the gateway can allow it. */
export function addDirectCommand(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  const on = command(
    program,
    "direct",
    "let devices leave outside the tunnel (the exit direct), take it from all, or show who does",
  ).addArgument(new Argument("[wanted]", "default: show").choices(WANTED));
  operatorCommand(on, async (settings) => {
    const wanted = WANTED.find((each) => each === on.args[0]);
    return (await loadDirect()).direct(settings, wanted);
  });
}

/** The addresses are secret, so only root on the gateway learns what becomes of them. */
export function addNotifyCommand(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  const notify = command(program, "notify", "notifications, for which --notify sets the addresses");
  operatorCommand(
    command(notify, "test", "send a message to each address; exit code 1 unless all of them took it"),
    async (settings) => (await import("./notify.ts")).testNotifications(settings),
  );
}

/** Tokens are made here and nowhere else: none can be used to make another. */
export function addTokenCommands(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  const token = command(program, "token", "manage the tokens that clients need with --auth");
  const add = command(token, "add", "make a token for a client, and print it once")
    .argument("<name>", "the client's, such as phone")
    .option("--read-only", "let it read, and change nothing");
  operatorCommand<{ readOnly?: true }>(add, async (settings, { readOnly }) =>
    (await loadToken()).addToken(settings, add.args[0] ?? "", readOnly === true),
  );
  operatorCommand(command(token, "list", "list the tokens, and say what needs one"), async (settings) =>
    (await loadToken()).listTokens(settings),
  );
  const remove = command(token, "remove", "remove a token: whoever has it is refused").argument("<name>");
  operatorCommand(remove, async (settings) =>
    (await loadToken()).removeToken(settings, remove.args[0] ?? ""),
  );
}

/** Backups never travel over the HTTP interface: they use the operator's socket, or the database directly. */
export function addBackupCommands(program: Command): void {
  program.commandsGroup("On the gateway, as root:");
  withPassphrase(
    command(
      program,
      "export",
      "write servers, keys, tunnels, devices, schedules and settings to standard output, encrypted",
    ),
  )
    .option("--plain", "do not encrypt: anyone who can read the file has your keys")
    .action(async (flags: ExportFlags) => (await loadBackup()).exportBackup(host, flags));
  withPassphrase(command(program, "restore", "read a backup from standard input"))
    .option("--replace", "replace servers, tunnels and devices that are here already")
    .option("--dry-run", "show what would change of tunnels and devices, and change nothing")
    .option("--killswitch-off", "turn the kill switch off if it was off when the backup was made")
    .option("--direct", "let devices leave outside the tunnel if the backup says so")
    .option("--json", "print JSON")
    .action((flags: RestoreFlags) =>
      say(flags.json === true, async () => (await loadBackup()).restoreBackup(host, flags)),
    );
}

function withPassphrase(on: Command): Command {
  return on
    .addOption(stateDirOption())
    .option("--passphrase-file <file>", "file with the passphrase on its first line (default: ask)");
}

function stateDirOption(): Option {
  const { name, argument, help, variable, fallback } = FLAGS.stateDir;
  return new Option(`--${name} ${argument}`, help).env(variable).default(fallback);
}

/** Last, so that it knows all the others. */
export function addLicenses(program: Command): void {
  command(program, "licenses", "print the licenses of everything in this executable").action(async () => {
    const { licensesText } = await import("../licenses/licenses.ts");
    process.stdout.write(licensesText());
  });
}

export function addCompletion(program: Command): void {
  program.commandsGroup("Daily use:");
  command(program, "completion", "print a completion script for a shell: commands, options and names")
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action(async (shell: Shell) => {
      const { completionFor } = await import("./completion/completion.ts");
      process.stdout.write(completionFor(shell, program));
    });
}

function addHistoryCommand(program: Command): void {
  asking<HistoryFlags>(
    command(program, "history", "show how much tunnels and devices have carried, and outages")
      .option("--tunnel <tunnel>", "only this tunnel")
      .option("--device <device>", "only this device's traffic, by its id or its name")
      .option("--hours <number>", "how far back, 1 to 1464; by minute up to 24", "24"),
    async (api, _, flags) => (await import("./history.ts")).showHistory(api, flags, host.now()),
  );
}

function addTunnelCommands(program: Command): void {
  asking<{ watch?: true }>(
    command(program, "status", "show the tunnel and the kill switch").option(
      "-w, --watch",
      "keep running and show each change",
    ),
    async (api, _, { watch, json }) => {
      if (watch) return (await import("./watch.ts")).watchStatus(api, host, json === true);
      const { readStatus, textOf } = await import("./status.ts");
      const status = await readStatus(api);
      return { json: status, text: textOf(status, host.now()) };
    },
  );
  asking<{ via?: string }>(
    command(
      program,
      "connect",
      "connect to a server of the current provider, or to the nearest one of a country or city",
    )
      .argument("<server>")
      .addOption(viaOption()),
    async (api, [server = ""], { via }) => (await loadTunnel()).connect(api, server, via),
  );
  asking(command(program, "disconnect", "end the tunnel; the kill switch stays in place"), async (api) =>
    (await loadTunnel()).disconnect(api),
  );
  asking<{ names?: true }>(
    command(program, "tunnels", "list the tunnels").option("--names", "print only their names, one a line"),
    async (api, _, { names }) => (await loadTunnels()).listTunnels(api, names === true),
  );
  asking<{ provider?: Provider; via?: string }>(
    command(program, "tunnel", "connect, disconnect or remove one of several tunnels")
      .argument("<tunnel>", "its name; connect makes it if there is none")
      .addArgument(new Argument("<action>", "what to do").choices(["connect", "disconnect", "remove"]))
      .argument("[server]", "for connect: as for the command connect")
      .addOption(
        new Option("--provider <provider>", "the server's provider (default: the current one)").choices(
          PROVIDERS,
        ),
      )
      .addOption(viaOption()),
    async (api, args, { provider, via }) =>
      (await loadTunnels()).changeTunnel(api, args, {
        ...(provider !== undefined && { provider }),
        ...(via !== undefined && { via }),
      }),
  );
  asking(command(program, "providers", "list the providers; a star marks the current one"), async (api) =>
    (await loadTunnel()).listProviders(api),
  );
  asking<{ managed?: Managed }>(
    command(program, "use", "make a provider the current one; a live tunnel stays as it is")
      .addArgument(new Argument("<provider>").choices(PROVIDERS))
      .addOption(
        new Option(
          "--managed <name>",
          "whose servers managed has: a company's, or those of your own list",
        ).choices(MANAGED),
      ),
    async (api, [provider = ""], { managed }) => (await loadTunnel()).useProvider(api, provider, managed),
  );
}

function viaOption(): Option {
  return new Option(
    "--via <server>",
    "reach it through this server, or the nearest one of a country or city",
  );
}

function addServerCommands(program: Command): void {
  asking<{ names?: true; places?: true }>(
    command(program, "servers", "list the current provider's servers, by country and city")
      .argument("[country]")
      .argument("[city]")
      .option("--names", "print only their names, one a line")
      .option("--places", "print only the countries and cities that connect takes, one a line"),
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
        new Option("--provider <provider>", "the server's provider (default: the current one)").choices(
          STORED,
        ),
      ),
    async (api, [name = ""], { provider }) => (await loadCustom()).removeServer(api, name, provider),
  );
  asking<{ name?: string }>(
    command(program, "import", "import WireGuard configurations: wg-quick files or .zip archives of them")
      .argument("<file...>")
      .option("--name <name>", "the server's name, if there is one file (default: the file's name)"),
    async (api, files, { name }) => (await import("./import.ts")).importFiles(api, files, name),
  );
  asking(command(program, "keypair", "print a new key pair, which the gateway does not keep"), async (api) =>
    (await loadTunnel()).makeKeyPair(api),
  );
}

function addDeviceCommands(program: Command): void {
  asking<{ names?: true; exits?: true }>(
    command(program, "devices", "list the devices of the LAN, and where each leaves")
      .option("--names", "print only their ids and names, one a line")
      .option("--exits", "print only the exits that a device can have, one a line"),
    async (api, _, only) => (await loadDevices()).listDevices(api, only),
  );
  asking(
    command(
      program,
      "device",
      "choose the exit of a device of the LAN, name it, give it an address, or forget all three",
    )
      .argument("<device>", "its id or its name")
      .addArgument(new Argument("<action>", "what to do").choices(["exit", "name", "address", "forget"]))
      .argument(
        "[exit, name or address]",
        "for exit: a tunnel, or blocked; for name: 1 to 64 characters; for address: an IPv4 address that the gateway's DHCP server then gives to it, or auto",
      ),
    async (api, args) => (await loadDevices()).changeDevice(api, args),
  );
  asking(
    command(
      program,
      "default-exit",
      "choose the exit of the devices that have none of their own: a tunnel, or blocked",
    ).argument("<exit>"),
    async (api, [exit = ""]) => (await loadDevices()).setDefaultExit(api, exit),
  );
  asking(
    command(program, "forwards", "list the ports of the internet that lead to devices of the LAN"),
    async (api) => (await loadForwards()).listForwards(api),
  );
  asking<ForwardFlags>(
    command(
      program,
      "forward",
      "have the VPN provider open a port that leads to a device of the LAN, or close it again",
    )
      .argument("<device:port>", "the device by id, name or address, and its port, such as TV:6881")
      .addArgument(new Argument("[action]", "to close it").choices(["remove"]))
      .option("--tcp", "TCP only (default: TCP and UDP)")
      .option("--udp", "UDP only")
      .option("--external <number>", "a port that is set on the provider's site; the provider is not asked"),
    async (api, args, flags) => (await loadForwards()).changeForward(api, args, flags),
  );
}

function addScheduleCommands(program: Command): void {
  asking<{ names?: true }>(
    command(program, "schedules", "list what is done at certain times").option(
      "--names",
      "print only their names, one a line",
    ),
    async (api, _, { names }) => (await loadSchedules()).listSchedules(api, names === true),
  );
  asking<ScheduleFlags>(
    command(
      program,
      "schedule",
      "give a device an exit for some hours, or move a tunnel to another server of its place, at certain times",
    )
      .argument("<schedule>", "its name; replaces one of this name")
      .addArgument(new Argument("<action>", "what to do").choices(["exit", "move", "remove"]))
      .argument("[device]", "for exit: its id or its name; for move: a tunnel (default: main)")
      .argument("[exit]", "for exit: a tunnel, or blocked")
      .option("--at <time>", "on the gateway's clock, such as 21:00")
      .option("--until <time>", "for exit: when it ends; the next day if it is not after --at")
      .option("--days <days>", "the days on which --at counts, such as mon-fri,sun (default: all)")
      .option("--every <hours>", "for move, in place of --at: such as 6h"),
    async (api, args, flags) => (await loadSchedules()).changeSchedule(api, args, flags),
  );
}

function addCommand(program: Command): Command {
  const secret = (flags: string, what: string) =>
    new Option(
      flags,
      `file with ${what} on its first line; ${STANDARD_INPUT} reads a line of standard input, or asks at a terminal`,
    );
  return command(program, "add", "add a server of your own; keys are read from files or asked for")
    .argument("<name>")
    .requiredOption("--endpoint <host:port>", "the server's address and port; IPv6 in brackets")
    .requiredOption("--public-key <key>", "the server's public key")
    .requiredOption("--address <CIDRs>", "your addresses in the tunnel, comma-separated")
    .addOption(secret("--private-key-file <file>", "your private key").default(STANDARD_INPUT))
    .addOption(secret("--preshared-key-file <file>", "the preshared key"))
    .option("--dns <addresses>", "resolvers, comma-separated")
    .option("--allowed-ips <CIDRs>", "destinations that the server carries (default: all)")
    .option("--location <text>", "the server's place, as City, Country")
    .option("--persistent-keepalive <seconds>", "seconds between keepalives; 0 turns them off")
    .option("--mtu <bytes>", "size of the largest packet in the tunnel");
}
