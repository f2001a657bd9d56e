import { Argument, type Command } from "commander";
import { apiCommand, command } from "../api-command.ts";
import type { ForwardFlags } from "../forwards.ts";

const loadDevices = () => import("../devices.ts");

export function addDeviceCommands(program: Command): void {
  apiCommand<{ names?: true; exits?: true }>(
    command(program, "devices", "list the devices of the LAN and the exit of each")
      .option("--names", "print only their ids and names, one per line")
      .option("--exits", "print only the exits that a device can have, one per line"),
    async (api, _, only) => (await loadDevices()).listDevices(api, only),
  );
  apiCommand(
    command(
      program,
      "device",
      "show a device, or choose its exit, pause it, name it, give it an address, a limit, a quota, an icon or a group, or forget all of it",
    )
      .argument("<device>", "its id or its name")
      .addArgument(
        new Argument("[action]", "what to do (default: show it)").choices([
          "exit",
          "pause",
          "resume",
          "name",
          "address",
          "rate",
          "quota",
          "icon",
          "group",
          "forget",
        ]),
      )
      .argument(
        "[exit or value]",
        'for exit: a tunnel, or blocked, or several of which the first that is up is taken (amsterdam,main,blocked); for pause: how long it has no internet, such as 30m (the default) or 2h, or until when, such as 07:00; for name: 1 to 64 characters; for address: an IPv4 address that the gateway\'s DHCP server then gives to it, or auto; for rate: Mbit/s each way (20), down and up (20/5 or 20/off), or off; for quota: how much, such as 500MB/day or 20GB/month, or off; for icon: phone, laptop, tv, camera, console, printer, speaker, other, or off; for group: the person or the room that it belongs to ("Living room"), or off',
      )
      .argument(
        "[end of the quota]",
        "what the device has then: blocked (the default), a rate as above, or told, which only tells you",
      ),
    async (api, args) => (await import("../device.ts")).changeDevice(api, args),
  );
  apiCommand(
    command(
      program,
      "default-exit",
      "choose the exit of the devices that have none of their own: a tunnel, or blocked",
    ).argument("<exit>"),
    async (api, [exit = ""]) => (await loadDevices()).setDefaultExit(api, exit),
  );
  apiCommand(
    command(program, "networks", "list the networks of the LAN, with the exit of each and what it reaches"),
    async (api) => (await import("../networks.ts")).listNetworks(api),
  );
  apiCommand(
    command(
      program,
      "network",
      "show a network of the LAN, or choose its exit, name it, give all of it a limit or a quota, or say whether it may use the page and reach other networks",
    )
      .argument("<network>", "its interface or its name")
      .addArgument(
        new Argument("[action]", "what to do (default: show it)").choices([
          "exit",
          "name",
          "page",
          "others",
          "rate",
          "quota",
          "forget",
        ]),
      )
      .argument(
        "[exit or value]",
        "for exit: a tunnel, blocked, several of which the first that is up is taken, or default; for name: 1 to 64 characters, or off; for page and others: on or off; for rate: Mbit/s each way (20), down and up (20/5 or 20/off), or off; for quota: how much, such as 500MB/day or 20GB/month, or off",
      )
      .argument("[end of the quota]", "what they have then: blocked (the default), a rate, or told"),
    async (api, args) => (await import("../networks.ts")).changeNetwork(api, args),
  );
  apiCommand(
    command(
      program,
      "shared-rate",
      "limit all devices without a limit of their own, together: Mbit/s each way (50), down and up (50/10 or 50/off), or off",
    ).argument("<rate>"),
    async (api, [rate = ""]) => (await loadDevices()).setSharedRate(api, rate),
  );
  apiCommand(
    command(
      program,
      "shared-quota",
      "set one quota for all devices without a quota of their own: how much, such as 500MB/day or 20GB/month, or off",
    )
      .argument("<quota>")
      .argument("[end of the quota]", "what they have then: blocked (the default), a rate, or told"),
    async (api, [quota = "", end]) => (await loadDevices()).setSharedQuota(api, quota, end),
  );
}

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
