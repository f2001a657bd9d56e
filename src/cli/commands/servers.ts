import { type Command, Option } from "commander";
import type { Stored } from "../../servers/schema.ts";
import { apiCommand, command } from "../api-command.ts";
import type { AddFlags } from "../custom.ts";
import { STANDARD_INPUT } from "../defaults.ts";
import { providerOption, STORED_CHOICES } from "../provider.ts";
import { operatorCommand } from "./operator.ts";

const loadCustom = () => import("../custom.ts");

export function addServerCommands(program: Command): void {
  apiCommand<{ names?: true; places?: true }>(
    command(program, "servers", "list the servers in use (see the command use), by country and city")
      .argument("[country]")
      .argument("[city]")
      .option("--names", "print only their names, one per line")
      .option("--places", "print only the countries and cities that connect takes, one per line"),
    async (api, [country, city], { names, places }) => {
      const { namesTextOf, placesTextOf, readServers, treeTextOf } = await import("../servers.ts");
      const found = await readServers(api, country, city);
      const lines = [...(places ? [placesTextOf(found)] : []), ...(names ? [namesTextOf(found)] : [])];
      return { json: found, text: lines.length > 0 ? lines.join("") : treeTextOf(found) };
    },
  );
  apiCommand<AddFlags>(addCommand(program), async (api, [name = ""], flags) =>
    (await loadCustom()).addServer(api, name, flags),
  );
  apiCommand<{ provider?: Stored }>(
    command(program, "remove", "remove a server of your own, or an imported one")
      .argument("<name>")
      .addOption(providerOption(STORED_CHOICES)),
    async (api, [name = ""], { provider }) => (await loadCustom()).removeServer(api, name, provider),
  );
  apiCommand<{ name?: string }>(
    command(program, "import", "import WireGuard configurations: wg-quick files or .zip archives of them")
      .argument("<file...>")
      .option("--name <name>", "the server's name, if there is one file (default: the file's name)"),
    async (api, files, { name }) => (await import("../import.ts")).importFiles(api, files, name),
  );
  apiCommand(
    command(program, "keypair", "print a new key pair, which the gateway does not keep"),
    async (api) => (await import("../tunnel.ts")).makeKeyPair(api),
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
    .option("--mtu <bytes>", "size of the largest packet in the tunnel")
    .option(
      "--amnezia <key=value>",
      "a setting of AmneziaWG, such as jc=4 or h1=5-10; can be given several times",
      (setting: string, all: string[] = []) => [...all, setting],
    );
}

/** The list may have to be fetched outside the tunnel, so only root on the gateway can ask for it. */
export function addServersUpdate(program: Command): void {
  const servers = program.commands.find((each) => each.name() === "servers") ?? program;
  servers.enablePositionalOptions();
  const update = command(
    servers,
    "update",
    "fetch the list of the VPN account's servers (on the gateway, as root)",
  ).option("--force", "accept a list that has less than half of the present servers");
  operatorCommand<{ force?: true }>(update, async (settings, { force }) =>
    (await import("../servers-update.ts")).updateServers(settings, force === true),
  );
}
