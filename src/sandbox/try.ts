import { CommandError, messageOf } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import { type Child, ENDS_WITH_THIS_PROGRAM, LinuxHost, SELF_COMMAND } from "../system/linux.ts";
import { sandboxRefusal } from "./permission.ts";
import { Relay } from "./relay.ts";
import { Sandbox } from "./sandbox.ts";
import { screenOf } from "./screen.ts";

/** The port is on this machine's loopback. */
type Options = Pick<Settings, "port" | "logLevel">;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const ASK_AGAIN_MS = 20;

/** Runs the gateway in a sandbox, prints what to type next, waits for a signal, and removes everything. Returns the exit code. */
export async function tryGateway({ port, logLevel }: Options): Promise<number> {
  if (process.getuid?.() !== 0) {
    process.stderr.write("portcullis: network namespaces need root; run it with sudo\n");
    return 1;
  }
  const host = new LinuxHost();
  const refusal = await sandboxRefusal(host);
  if (refusal !== null) {
    process.stderr.write(
      `portcullis: network namespaces are not permitted here (${refusal}); start it on the machine itself, or in a privileged container\n`,
    );
    return 1;
  }
  const stopped = signal();
  const sandbox = await Sandbox.create({ cards: 2, computers: 3 });
  let relay: Relay | null = null;
  try {
    relay = relayTo(sandbox, port);
    const flags = [...sandbox.gatewayFlags(port), "--gluetun-routes", "on", "--log-level", logLevel];
    const command = sandbox.onGateway([...SELF_COMMAND, "serve", ...flags]);
    const gateway = host.spawn([...ENDS_WITH_THIS_PROGRAM, ...command]);
    try {
      // If it cannot start, it has said why.
      const failed = await Promise.race([answers(host, port), gateway.exited]);
      if (failed !== null) return 1;
      await nameComputers(sandbox, port);
      process.stdout.write(screenOf(sandbox, port, process.stdout.isTTY === true));
      // Ctrl-C in a terminal reaches both, and the gateway may be the first to end.
      const code = await Promise.race([stopped, gateway.exited]);
      process.stdout.write("\nStopping.\n");
      return code;
    } finally {
      await end(gateway);
    }
  } finally {
    relay?.stop();
    await sandbox.close();
  }
}

function relayTo(sandbox: Sandbox, port: number): Relay {
  try {
    return Relay.start(sandbox.namespaces.gateway, port);
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === "EADDRINUSE" ? "it is in use" : messageOf(cause);
    throw new CommandError(
      "unable",
      `cannot listen on 127.0.0.1 port ${port}: ${why}; choose another with --port`,
      {
        cause,
      },
    );
  }
}

/** Returns once the gateway does. */
async function answers(host: LinuxHost, port: number): Promise<null> {
  const asks = () => fetch(`http://127.0.0.1:${port}/health`).then(({ ok }) => ok);
  while (!(await asks().catch(() => false))) await host.sleep(ASK_AGAIN_MS);
  return null;
}

/** At a real home they send their names to the DHCP server. */
async function nameComputers({ computers }: Sandbox, port: number): Promise<void> {
  for (const { mac, name } of computers)
    await fetch(`http://127.0.0.1:${port}/api/devices/${mac}`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name }),
    });
}

async function end(gateway: Child): Promise<void> {
  gateway.kill("SIGTERM");
  await gateway.exited;
}

/** The handlers stay installed, so that no signal ends the program before the sandbox is removed. */
function signal(): Promise<0> {
  const { promise, resolve } = Promise.withResolvers<0>();
  for (const name of SIGNALS) process.on(name, () => resolve(0));
  return promise;
}
