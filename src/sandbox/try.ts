import { join } from "node:path";
import { FLAGS, type Settings } from "../base/settings.ts";
import { LinuxHost } from "../system/linux.ts";
import { sandboxRefusal } from "./permission.ts";
import { Sandbox } from "./sandbox.ts";
import { screenOf } from "./screen.ts";

/** The gateway's settings for the sandbox; the caller chooses the log level. */
export type TrySettings = Omit<Settings, "logLevel">;

export interface TryOptions {
  /** Port of the gateway's HTTP interface, on this machine's loopback. */
  port?: number;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs the gateway in a sandbox, prints what to type next, waits for a signal, and removes everything. `start` runs the
 * service and returns a function that stops it. Returns the exit code.
 */
export async function tryGateway(
  start: (settings: TrySettings) => Promise<() => Promise<void>>,
  options: TryOptions = {},
): Promise<number> {
  if (process.getuid?.() !== 0) {
    process.stderr.write("portcullis: network namespaces need root; run it with sudo\n");
    return 1;
  }
  const refusal = await sandboxRefusal(new LinuxHost());
  if (refusal !== null) {
    process.stderr.write(
      `portcullis: network namespaces are not permitted here (${refusal}); start it on the machine itself, or in a privileged container\n`,
    );
    return 1;
  }
  const stopped = signal();
  const sandbox = await Sandbox.create({ cards: 2, computers: 3 });
  try {
    const settings = settingsFor(sandbox, options.port ?? 5000);
    const stop = await start(settings);
    try {
      process.stdout.write(screenOf(sandbox, settings.port, process.stdout.isTTY === true));
      await stopped;
      process.stdout.write("\nStopping.\n");
    } finally {
      await stop();
    }
  } finally {
    await sandbox.close();
  }
  return 0;
}

function settingsFor(sandbox: Sandbox, port: number): TrySettings {
  return {
    port,
    host: "127.0.0.1",
    name: [],
    stateDir: join(sandbox.directory, "state"),
    interface: sandbox.interface,
    lan: [sandbox.lan],
    uplink: sandbox.uplink,
    dhcp: null,
    ula: null,
    netns: sandbox.namespaces.gateway,
    managedList: sandbox.files.managedList,
    managedKeyFile: sandbox.files.managedKey,
    managedApi: FLAGS.managedApi.fallback,
    managedAddress: sandbox.managedAddress,
    managedDns: sandbox.managedDns,
    autoconnect: true,
    failover: false,
    gluetunRoutes: true,
    notify: [],
    auth: "off",
    portMapping: false,
    mqtt: null,
    mqttPasswordFile: null,
    mqttCaFile: null,
    mqttCommands: false,
    history: true,
  };
}

/** The handlers stay installed, so that no signal ends the program before the sandbox is removed. */
function signal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const name of SIGNALS) process.on(name, () => resolve());
  return promise;
}
