import type { Prefix } from "../base/address.ts";
import type { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import type { Host } from "../system/host.ts";
import { Bridge, type Deps as BridgeDeps } from "./bridge.ts";
import { addressesOf, type Broker, brokerIn, type TunnelTo, wayTo } from "./broker.ts";
import { Connection, Unreached } from "./connection.ts";
import { refused } from "./refusals.ts";
import { availabilityTopic, idOf } from "./topics.ts";

type MqttSettings = Pick<Settings, "mqttPasswordFile" | "mqttCaFile" | "mqttCommands" | "port">;

interface Deps extends Pick<BridgeDeps, "gateway" | "store" | "status"> {
  settings: MqttSettings & { mqtt: string };
  host: Pick<Host, "read" | "sleep" | "monotonic" | "random">;
  log: Pick<Log, "info" | "warn">;
  /** The machine's name. */
  hostname: string;
  lans: () => readonly Prefix[];
  tunnelTo: TunnelTo;
}

/** An address of the broker, and the way that leads to it. */
type Reached = Awaited<ReturnType<typeof reachable>>[number];

/** Enough for a certificate authority's certificates, and for a password. */
const MAX_FILE_BYTES = 64 * 1024;
/** A broker has one or two addresses of each family. Each attempt may take ten seconds. */
const MAX_ADDRESSES = 4;

/** Shows the gateway to Home Assistant until `signal` aborts. */
export function runBridge(deps: Deps, signal: AbortSignal): Promise<void> {
  const { settings, host, hostname } = deps;
  const id = idOf(hostname);
  const broker = brokerIn(settings.mqtt);
  let reached: Reached | null = null;
  const open = async (ending: AbortSignal) => {
    let fault: unknown;
    for (const next of await reachable(broker, deps)) {
      reached = next;
      try {
        return await Connection.open(await dialled(broker, next, id, deps), host, ending);
      } catch (error) {
        if (!(error instanceof Unreached) || ending.aborted) throw error;
        fault = error;
      }
    }
    throw fault;
  };
  const connected = () =>
    `connected to ${broker.host}, ${reached?.way === "LAN" ? "which is on the LAN" : "through the tunnel"}`;
  const fault = () => {
    const way = reached && wayTo(reached.address, deps.lans(), deps.tunnelTo);
    if (way === null) return "the tunnel to the broker has ended";
    return Bun.deepEquals(way, reached?.way) ? null : "the way to the broker has changed";
  };
  // The machine's name in multicast DNS. Home Assistant refuses a page that is not a URL.
  const site = { id, page: `http://${idOf(hostname.replace(/\..*/, ""))}.local:${settings.port}/` };
  const bridge = new Bridge({
    ...deps,
    clock: host,
    site,
    commands: settings.mqttCommands,
    open,
    connected,
    fault,
  });
  return bridge.run(signal);
}

/**
 * The broker's addresses to which ways lead, the most preferred first. A name often has one of IPv6 at which no broker
 * listens.
 */
async function reachable({ host }: Broker, { lans, tunnelTo }: Deps) {
  const addresses = await addressesOf(host).catch(() => {
    throw refused("broker_name_unresolved", { name: host });
  });
  const found = addresses.flatMap((address) => {
    const way = wayTo(address, lans(), tunnelTo);
    return way === null ? [] : [{ address, way }];
  });
  if (found.length === 0) throw refused("broker_nowhere", { host });
  return found.slice(0, MAX_ADDRESSES);
}

/** The files are read again for each connection, so that a new password needs no restart. */
async function dialled({ tls, host, port, user }: Broker, { address, way }: Reached, id: string, deps: Deps) {
  const { mqttPasswordFile, mqttCaFile } = deps.settings;
  const password = await textIn(deps.host, mqttPasswordFile, "--mqtt-password-file");
  return {
    address,
    from: way === "LAN" ? null : way.from,
    port,
    certified: tls ? host : null,
    authority: tls ? await textIn(deps.host, mqttCaFile, "--mqtt-ca-file") : null,
    clientId: `portcullis-${id}`,
    user,
    password: password?.replace(/\r?\n$/, "") ?? null,
    will: { topic: availabilityTopic(id), payload: "offline" },
  };
}

async function textIn(host: Deps["host"], path: string | null, flag: string): Promise<string | null> {
  if (path === null) return null;
  const text = await host.read(path, MAX_FILE_BYTES);
  if (text === null) throw refused("file_unreadable", { file: path, flag });
  return text;
}
