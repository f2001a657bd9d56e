import { Argument, type Command, Option } from "commander";
import { version } from "../../package.json";
import { messageOf } from "../errors.ts";
import { PROVIDERS } from "../servers/schema.ts";
import { LinuxHost } from "../system/linux.ts";
import { Api, DEFAULT_URL } from "./api.ts";
import { completionFor, SHELLS, type Shell } from "./completion.ts";
import { type AddFlags, addServer, removeServer } from "./custom.ts";
import { EXIT, exitCodeOf } from "./exit.ts";
import { importFiles } from "./import.ts";
import { type LogFlags, showLogs } from "./logs.ts";
import type { Said } from "./said.ts";
import { STANDARD_INPUT } from "./secret.ts";
import { namesTextOf, readServers, treeTextOf } from "./servers.ts";
import { readStatus, textOf } from "./status.ts";
import { connect, disconnect, listProviders, makeKeyPair, useProvider } from "./tunnel.ts";
import { watchStatus } from "./watch.ts";

const host = new LinuxHost();

/** The commands of daily use; they talk to a running gateway. */
export function addDailyCommands(program: Command): void {
  program.commandsGroup("Daily use:");
  addTunnelCommands(program);
  addServerCommands(program);
  command(program, "logs", "show the service's log, from the journal of this machine")
    .option("-f, --follow", "go on with what is written next")
    .option("-n, --lines <number>", "so many of the latest lines, or all", "100")
    .option("--json", "for scripts, one object a line")
    .action(async (flags: LogFlags) => {
      process.exitCode = (await showLogs(host, flags)) === 0 ? EXIT.ok : EXIT.failed;
    });
}

/** Last, so that it knows all the others. */
export function addCompletion(program: Command): void {
  command(program, "completion", "print a script that lets a shell complete commands, options and servers")
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action((shell: Shell) => void process.stdout.write(completionFor(shell, program)));
}

function addTunnelCommands(program: Command): void {
  asking<{ watch?: true }>(
    command(program, "status", "say how the tunnel and the kill switch are").option(
      "-w, --watch",
      "go on, and show each change",
    ),
    async (api, _, { watch, json }) => {
      if (watch) return watchStatus(api, host, json === true);
      const status = await readStatus(api);
      return { json: status, text: textOf(status, host.now()) };
    },
  );
  asking(
    command(program, "connect", "connect to a server of the current provider").argument("<server>"),
    (api, [server = ""]) => connect(api, server),
  );
  asking(command(program, "disconnect", "end the tunnel; the kill switch stays"), disconnect);
  asking(command(program, "providers", "list the providers; a star marks the current one"), listProviders);
  asking(
    command(program, "use", "make a provider the current one; a live tunnel stays as it is").addArgument(
      new Argument("<provider>").choices(PROVIDERS),
    ),
    (api, [provider = ""]) => useProvider(api, provider),
  );
}

function addServerCommands(program: Command): void {
  asking<{ names?: true }>(
    command(program, "servers", "list the current provider's servers, by country and city")
      .argument("[country]")
      .argument("[city]")
      .option("--names", "only their names, one a line"),
    async (api, [country, city], { names }) => {
      const found = await readServers(api, country, city);
      return { json: found, text: names ? namesTextOf(found) : treeTextOf(found) };
    },
  );
  asking<AddFlags>(addCommand(program), (api, [name = ""], flags) => addServer(api, name, flags));
  asking(command(program, "remove", "remove a custom server").argument("<name>"), (api, [name = ""]) =>
    removeServer(api, name),
  );
  asking<{ name?: string }>(
    command(program, "import", "import WireGuard configurations: wg-quick files, and .zip archives of them")
      .argument("<file...>")
      .option("--name <name>", "the server's name, where there is one file (default: the file's name)"),
    (api, files, { name }) => importFiles(api, files, name),
  );
  asking(command(program, "keypair", "make a new pair of keys; it is kept nowhere"), makeKeyPair);
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

/** Makes a command ask the gateway; `args` are its operands as typed. */
function asking<Flags extends object = object>(
  on: Command,
  work: (api: Api, args: readonly string[], flags: Flags & { json?: true }) => Promise<Said>,
): void {
  on.addOption(
    new Option("--url <address>", "the gateway").env("PORTCULLIS_URL").default(DEFAULT_URL),
  ).option("--json", "for scripts: the gateway's own answer");
  on.action(async () => {
    const flags = on.opts<Flags & { url: string; json?: true }>();
    await say(flags.json === true, () => work(new Api(flags.url, host), on.args, flags));
  });
}

/** With --json the outcome is one JSON value on standard output, a failure too. */
async function say(json: boolean, work: () => Promise<Said>): Promise<void> {
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

function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .version(`portcullis ${version}`, "-V, --version")
    .exitOverride()
    .allowExcessArguments(false);
}
