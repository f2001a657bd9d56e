#!/usr/bin/env bun
import { Command, CommanderError, Option } from "commander";
import { version } from "../package.json";
import { messageOf } from "./base/errors.ts";
import { FLAGS } from "./base/flags.ts";
import { redacted } from "./base/secrets.ts";
import { settingsFrom } from "./base/settings.ts";
import { exitCodeOf } from "./cli/exit.ts";
import { withInstalledSettings, withSettings } from "./cli/settings.ts";
import { printableLines } from "./cli/text.ts";
import { RUNTIME_HELP } from "./install/runtime.ts";
import { notifySystemd, tellStatus } from "./system/notify.ts";

// Each command loads what it needs when it runs.
const loadServe = () => import("./app/serve.ts");
const loadKillSwitch = () => import("./cli/killswitch.ts");

const program = new Command("portcullis")
  .description("A WireGuard VPN gateway with a kill switch.")
  .version(`portcullis ${version}`, "-V, --version")
  .exitOverride()
  // An option belongs to the command that it follows: `servers` and `servers update` both have some.
  .enablePositionalOptions()
  // Usage errors quote what was typed, which may be a secret in the wrong place.
  .configureOutput({ outputError: (text, write) => write(redacted(text.replace(/^error:/, "portcullis:"))) })
  // Names alone: what a command takes is in its own help.
  .configureHelp({ subcommandTerm: (each) => each.name() })
  .showHelpAfterError(false);

// A start does not wait for the definitions of the other commands.
if (process.argv[2] === "serve") addServe();
else await addAllCommands();

// The reader closed the pipe (`| head`): not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
});

await program.parseAsync().catch((error: unknown) => {
  // Commander has printed its own errors.
  if (!(error instanceof CommanderError))
    process.stderr.write(`portcullis: ${printableLines(messageOf(error))}\n`);
  process.exit(exitCodeOf(error));
});

function addServe(): void {
  const on = command("serve", "run the gateway").addHelpText("after", RUNTIME_HELP);
  withSettings(on, async (settings) => {
    const { serve } = await loadServe();
    const service = await serve(settings);
    notifySystemd();
    // The tunnel and the kill switch outlive the service; only its answers end.
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => void service.stop().finally(() => process.exit(0)));
    }
  });
}

/** In the order of the help: first what people use every day. */
async function addAllCommands(): Promise<void> {
  const [{ addCommands }, { addExamples }] = await Promise.all([
    import("./cli/commands/commands.ts"),
    import("./cli/examples.ts"),
  ]);
  addCommands(program, addKillSwitchCommands);
  addServe();
  addTry();
  addInnerCommands();
  addExamples(program);
}

function addTry(): void {
  command("try", "run the gateway in a sandbox: a home and an internet in network namespaces of this machine")
    .addOption(new Option("--port <number>", "port of the HTTP interface, on loopback").default("5000"))
    .addOption(new Option("--log-level <level>", FLAGS.logLevel.help).default("warn"))
    .action(async (texts: { port: string; logLevel: string }) => {
      const { tryGateway } = await import("./sandbox/try.ts");
      process.exit(await tryGateway(settingsFrom(texts)));
    });
}

function addKillSwitchCommands(): void {
  const killswitch = command(
    "killswitch",
    "turn the kill switch on or off, or show its state (on the gateway only)",
  );
  for (const wanted of ["on", "off"] as const) {
    withInstalledSettings(
      command(
        wanted,
        wanted === "on"
          ? "turn the kill switch on"
          : "turn the kill switch off: traffic might leave outside the tunnel",
        killswitch,
      ),
      async (settings) => {
        const { printKillSwitch, setKillSwitch } = await loadKillSwitch();
        await setKillSwitch(settings, wanted);
        process.exit(await printKillSwitch(settings).then((code) => (wanted === "on" ? code : 0)));
      },
    );
  }
  withInstalledSettings<{ json?: true }>(
    command(
      "status",
      "show whether the kill switch is in place, part by part; exit code 0 if it is, else 1",
      killswitch,
    ).option("--json", "print JSON"),
    async (settings, { json }) => {
      const { printKillSwitch } = await loadKillSwitch();
      process.exit(await printKillSwitch(settings, json ? "json" : "text"));
    },
  );
}

/** Commands that the program or its units run. */
function addInnerCommands(): void {
  command("restore-clock", "", program, { hidden: true })
    .argument("<state folder>")
    .action(async (stateDir: string) => {
      const [{ restoreClock }, { LinuxHost }] = await Promise.all([
        import("./tunnel/saved-clock.ts"),
        import("./system/linux.ts"),
      ]);
      process.stdout.write(`${await restoreClock(new LinuxHost(), stateDir)}\n`);
    });
  withInstalledSettings(command("dhcp-ready", "", program, { hidden: true }), async (settings) => {
    const [{ awaitDhcp }, { DHCP_FILES: files }, { LinuxHost }, { Log }] = await Promise.all([
      import("./dhcp/ready.ts"),
      import("./dhcp/files.ts"),
      import("./system/linux.ts"),
      import("./base/log.ts"),
    ]);
    const log = new Log(settings.logLevel);
    await awaitDhcp({ host: new LinuxHost(), settings, files, log }, (reason) => tellStatus(reason ?? ""));
  });
  command("ports", "", program, { hidden: true })
    .argument("<uplink>")
    .argument("<lan...>")
    .action(async (uplink: string, lans: string[]) => {
      const { changePorts } = await import("./install/ports.ts");
      await changePorts({ uplink, lans });
    });
  command("assign-ports", "", program, { hidden: true })
    .argument("<uplink>")
    .argument("<lan...>")
    .action(async (uplink: string, lans: string[]) => {
      const { assignPorts } = await import("./install/ports.ts");
      await assignPorts({ uplink, lans });
    });
  command("restore-ports", "", program, { hidden: true }).action(async () => {
    const { restorePorts } = await import("./install/ports.ts");
    await restorePorts();
  });
  command("access-point", "", program, { hidden: true })
    .argument("<radio>")
    .action(async (radio: string) => {
      const { openAccessPoint } = await import("./access-point/open.ts");
      await openAccessPoint(radio);
    });
  command("portal", "", program, { hidden: true })
    .argument("<address>")
    .action(async (address: string) => {
      const { servePortal } = await import("./access-point/portal.ts");
      servePortal(address);
    });
  command("sandbox-internet", "", program, { hidden: true }).action(async () => {
    const { serveInternet } = await import("./sandbox/internet.ts");
    await serveInternet();
  });
}

function command(name: string, description: string, parent = program, options = {}): Command {
  return parent
    .command(name, options)
    .description(description)
    .version(`portcullis ${version}`, "-V, --version")
    .exitOverride()
    .allowExcessArguments(false);
}
