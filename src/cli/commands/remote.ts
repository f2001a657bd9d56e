import { Argument, type Command } from "commander";
import { apiCommand, command, type Output, print } from "../api-command.ts";
import type { AddRemoteFlags, RemoteOnFlags } from "../remote.ts";
import { stateDirOption } from "./operator.ts";

const loadRemote = () => import("../remote.ts");

/** Remote access opens a port to strangers, so only root on the gateway can turn it on. */
export function addRemoteCommands(program: Command): void {
  const remote = command(
    program,
    "remote",
    "let phones and laptops reach home from outside, or list those that may",
  ).enablePositionalOptions();
  apiCommand(remote, async (api) => (await loadRemote()).showRemote(api));
  rootCommand<RemoteOnFlags>(
    command(remote, "on", "let devices in (on the gateway, as root)")
      .option(
        "--port <number>",
        "the UDP port at which they call (default: 51820 or as before, and with --through one that the provider opens)",
      )
      .option("--endpoint <name>", "the name or address that they call, with :port if it is another")
      .option("--through <tunnel>", "let them come in by this tunnel, at a port that its provider forwards"),
    async (stateDir, flags) => (await loadRemote()).turnOn(stateDir, flags),
  );
  rootCommand(command(remote, "off", "stop letting devices in (on the gateway, as root)"), async (stateDir) =>
    (await loadRemote()).turnOff(stateDir),
  );
  apiCommand<AddRemoteFlags>(
    command(remote, "add", "let a device in, and print its code to scan, or its WireGuard file")
      .argument("<name>", "the device's name, such as phone")
      .option("--exit <exit>", "a tunnel, blocked, or direct (default: the default exit)")
      .option("--no-lan", "keep it from the LAN and from the gateway")
      .option("--home-only", "write a file by which only what is for the LAN takes the way home")
      .option("--file", "print the file (default unless standard output is a terminal)")
      .option("--code", "print the code (default at a terminal)"),
    async (api, [name = ""], flags) => (await loadRemote()).addRemote(api, name, flags),
  );
  apiCommand(
    command(remote, "lan", "choose whether a device may reach the LAN and the gateway")
      .argument("<name>", "its name or its id")
      .addArgument(new Argument("<state>").choices(["on", "off"])),
    async (api, [name = "", state = ""]) => (await loadRemote()).setRemoteLan(api, name, state),
  );
  apiCommand(
    command(remote, "remove", "remove a device, which can then no longer connect").argument(
      "<name>",
      "its name or its id",
    ),
    async (api, [name = ""]) => (await loadRemote()).removeRemote(api, name),
  );
}

const loadLinks = () => import("../links.ts");

/** Links to other homes. The codes by which two learn of each other have no secrets. */
export function addLinkCommands(program: Command): void {
  const link = command(
    program,
    "link",
    "link this home to another one with a Portcullis, or list the links and what each reaches here",
  ).enablePositionalOptions();
  const home = "what the other home is called here, such as parents";
  apiCommand(link, async (api) => (await loadLinks()).listLinks(api));
  apiCommand(
    command(link, "add", "begin a link, and print the code for the other home").argument("<name>", home),
    async (api, [name = ""]) => (await loadLinks()).addLink(api, name),
  );
  apiCommand(
    command(link, "take", "take the code of the other home, and print what must go back, if anything")
      .argument("<code>", "the line that was printed there")
      .argument("[name]", `${home} (default: as its gateway calls itself)`),
    async (api, [code = "", name]) => (await loadLinks()).takeLink(api, code, name),
  );
  for (const [action, summary] of [
    ["allow", "let the other home reach a device here"],
    ["deny", "no longer let it reach that device"],
  ] as const)
    apiCommand(
      command(link, action, summary)
        .argument("<name>", "the link")
        .argument("<device>", "the device's id or its name"),
      async (api, words) => (await loadLinks()).changeReach(api, words, action),
    );
  apiCommand(
    command(link, "exit", "choose whether the other home may leave by this one")
      .argument("<name>", "the link")
      .addArgument(new Argument("<state>").choices(["on", "off"])),
    async (api, [name = "", state = ""]) => (await loadLinks()).setLinkExit(api, name, state),
  );
  apiCommand(
    command(link, "remove", "end a link: the other home reaches nothing any more").argument(
      "<name>",
      "the link",
    ),
    async (api, [name = ""]) => (await loadLinks()).removeLink(api, name),
  );
}

/** The flag --port is for devices here, and not for the HTTP interface, so these commands take no other setting. */
function rootCommand<Flags extends object = object>(
  on: Command,
  work: (stateDir: string, flags: Flags) => Promise<Output>,
): void {
  on.option("--json", "print JSON")
    .addOption(stateDirOption())
    .action((flags: Flags & { stateDir: string; json?: true }) =>
      print(flags.json === true, () => work(flags.stateDir, flags)),
    );
}
