import { Argument, type Command, Option } from "commander";
import { MANAGED, type Managed, PROVIDERS, type Provider } from "../../servers/schema.ts";
import { asking, command, host } from "../asking.ts";

const loadTunnel = () => import("../tunnel.ts");
const loadTunnels = () => import("../tunnels.ts");

export function addTunnelCommands(program: Command): void {
  asking<{ watch?: true }>(
    command(program, "status", "show the tunnel and the kill switch").option(
      "-w, --watch",
      "keep running and show each change",
    ),
    async (api, _, { watch, json }) => {
      if (watch) return (await import("../watch.ts")).watchStatus(api, host, json === true);
      const { readStatus, textOf } = await import("../status.ts");
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
