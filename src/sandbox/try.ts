import { join } from "node:path";
import { FLAGS, type Settings } from "../settings.ts";
import { Sandbox } from "./sandbox.ts";
import { screenOf } from "./screen.ts";

/** All that the gateway needs to serve the sandbox; how much it logs is for the caller to say. */
export type TrySettings = Omit<Settings, "logLevel">;

export interface TryOptions {
  /** Port of the gateway's HTTP interface, on this machine's loopback. */
  port?: number;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Puts the gateway into a sandbox, says what to type next, and stays until a signal comes; then nothing is left.
 * `start` runs the service with the settings and returns what stops it. Returns the exit code.
 */
export async function tryGateway(
  start: (settings: TrySettings) => Promise<() => Promise<void>>,
  options: TryOptions = {},
): Promise<number> {
  if (process.getuid?.() !== 0) {
    process.stderr.write("portcullis: network namespaces need root; run it with sudo\n");
    return 1;
  }
  const stopped = signal();
  const sandbox = await Sandbox.create({ arms: 2 });
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
    stateDir: join(sandbox.directory, "state"),
    interface: sandbox.interface,
    lan: [sandbox.lan],
    uplink: sandbox.uplink,
    netns: sandbox.namespaces.gateway,
    managedList: sandbox.files.managedList,
    managedKeyFile: sandbox.files.managedKey,
    managedApi: FLAGS.managedApi.fallback,
    managedAddress: sandbox.managedAddress,
    managedDns: sandbox.managedDns,
    autoconnect: true,
    failover: false,
  };
}

/** Listens from the first moment and to the last, so that no signal ends the program with a sandbox left. */
function signal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const name of SIGNALS) process.on(name, () => resolve());
  return promise;
}
