import { Argument, type Command } from "commander";
import { apiCommand, command } from "../api-command.ts";
import type { ForwardFlags } from "../forwards.ts";

const loadForwards = () => import("../forwards.ts");

export function addForwardCommands(program: Command): void {
  apiCommand(
    command(program, "forwards", "list forwarded ports, which lead from the internet to devices of the LAN"),
    async (api) => (await loadForwards()).listForwards(api),
  );
  apiCommand<ForwardFlags>(
    command(program, "forward", "forward a port of the VPN server to a device of the LAN, or close it again")
      .argument("<device:port>", "the device by id, name or address, and its port, such as TV:6881")
      .addArgument(new Argument("[action]", "to close it").choices(["remove"]))
      .option("--tcp", "TCP only (default: TCP and UDP)")
      .option("--udp", "UDP only")
      .option("--external <number>", "a port that is set on the provider's site; the provider is not asked"),
    async (api, args, flags) => (await loadForwards()).changeForward(api, args, flags),
  );
}
