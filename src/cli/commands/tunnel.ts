import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { QUANTUM, TRANSPORTS } from "../../servers/schema.ts";
import { BACK_MINUTES, MAX_BACK_MINUTES } from "../../shared/bounds.ts";
import { OPTION_TEXT } from "../../transports/texts.ts";
import { apiCommand, command, host } from "../api-command.ts";
import type { How } from "../asked.ts";
import { PROVIDER_CHOICES, providerOption, USE_CHOICES, useIn } from "../provider.ts";
import type { SpeedFlags } from "../speed.ts";

const loadTunnel = () => import("../tunnel.ts");
const loadTunnels = () => import("../tunnels.ts");

export function addTunnelCommands(program: Command): void {
  apiCommand<{ watch?: true }>(
    command(program, "status", "show the tunnels, the kill switch and how many devices there are").option(
      "-w, --watch",
      "keep running and show each change",
    ),
    async (api, _, { watch, json }) => {
      if (watch) return (await import("../watch.ts")).watchStatus(api, host, json === true);
      const { readRest, readStatus, textOf } = await import("../status.ts");
      const status = await readStatus(api);
      return { json: status, text: json ? "" : textOf(status, host.now(), await readRest(api)) };
    },
  );
  apiCommand<How>(
    withHow(
      command(program, "connect", "connect to a server, or to the nearest one of a country or city").argument(
        "[server]",
        "without it, wherever the tunnel led last",
      ),
    ),
    async (api, [server], flags) => (await loadTunnel()).connect(api, server, flags),
  );
  apiCommand(
    command(program, "disconnect", "end the main tunnel; the kill switch stays in place"),
    async (api) => (await loadTunnel()).disconnect(api),
  );
  apiCommand<{ names?: true }>(
    command(program, "tunnels", "list the tunnels; connect and disconnect use main").option(
      "--names",
      "print only their names, one per line",
    ),
    async (api, _, { names }) => (await loadTunnels()).listTunnels(api, names === true),
  );
  apiCommand<How & { provider?: string }>(
    withHow(
      command(program, "tunnel", "connect, disconnect or remove one of several tunnels")
        .argument("<tunnel>", "its name; connect creates it")
        .addArgument(new Argument("<action>", "what to do").choices(["connect", "disconnect", "remove"]))
        .argument("[server]", "for connect: as for the command connect")
        .addOption(providerOption(PROVIDER_CHOICES)),
    ),
    async (api, args, flags) => (await loadTunnels()).changeTunnel(api, args, flags),
  );
  apiCommand<SpeedFlags>(
    command(program, "speed-test", "measure the speed of a tunnel by a download, or show the last results")
      .argument("[address]", "the https address of a large file; its server learns the tunnel's address")
      .option("--tunnel <tunnel>", "the tunnel that is measured (default: main)")
      .option("--seconds <number>", "how long at most, 1 to 30 (default: 10)")
      .option("--megabytes <number>", "how much at most, 1 to 1000 (default: 100)"),
    async (api, [address], flags) => (await import("../speed.ts")).speedTest(api, address, flags),
  );
  apiCommand(
    command(
      program,
      "providers",
      "list the kinds of servers: your VPN account's, your own, imported; a star marks those in use",
    ),
    async (api) => (await loadTunnel()).listProviders(api),
  );
  apiCommand(
    command(
      program,
      "use",
      "choose whose servers connect uses: your VPN account's, your own, or imported ones; a live tunnel stays as it is",
    ).addArgument(
      new Argument(
        "<provider>",
        "a company stands for your VPN account there; list is your own JSON list of servers",
      )
        .choices(USE_CHOICES)
        .argParser(useIn),
    ),
    async (api, [provider = ""]) => (await loadTunnel()).useProvider(api, useIn(provider)),
  );
}

/** Adds the options of a connect. */
function withHow(on: Command): Command {
  return on
    .addOption(thenOption())
    .addOption(backOption())
    .option("--quiet", "with --then: go back only once the tunnel has carried little for a minute")
    .addOption(leaveOption())
    .addOption(viaOption())
    .addOption(transportOption())
    .addOption(quantumOption());
}

function quantumOption(): Option {
  return new Option(
    "--quantum <keys>",
    "keys that are safe from quantum computers, at Mullvad: on if the server has them, require, or off; kept for the next connects",
  ).choices(QUANTUM);
}

function transportOption(): Option {
  return new Option("--transport <way>", OPTION_TEXT).choices(TRANSPORTS);
}

function thenOption(): Option {
  return new Option(
    "--then <server>",
    "the next server if that one fails, now or later; repeatable; --via and --transport apply to each",
  ).argParser((server: string, others: string[] | undefined) => [...(others ?? []), server]);
}

function backOption(): Option {
  return new Option(
    "--back <minutes>",
    `with --then: after how long a better server is tried again, beside the live tunnel; 0 is never (default: ${BACK_MINUTES})`,
  ).argParser((text) => {
    if (/^\d{1,4}$/.test(text) && Number(text) <= MAX_BACK_MINUTES) return Number(text);
    throw new InvalidArgumentError(`It is a number of minutes from 0 to ${MAX_BACK_MINUTES}.`);
  });
}

function leaveOption(): Option {
  return new Option(
    "--leave <states>",
    "with --then: leave a server not only when it is dead, but also when the tunnel is slow, lossy, or either (slow,lossy)",
  ).argParser((text) => {
    const states = text.split(",");
    if (/^(slow|lossy)(,(slow|lossy))?$/.test(text) && new Set(states).size === states.length) return states;
    throw new InvalidArgumentError("It is slow, lossy, or slow,lossy.");
  });
}

function viaOption(): Option {
  return new Option(
    "--via <server>",
    "reach it through this server, or the nearest one of a country or city",
  );
}
