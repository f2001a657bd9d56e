import { isIP } from "node:net";
import { hostname } from "node:os";
import type { AlertCode } from "./alert.ts";
import { liveBackup } from "./backup/live.ts";
import { GatewayError, messageOf } from "./errors.ts";
import { gatewayOf } from "./gateway.ts";
import { type Graph, graphOf } from "./graph.ts";
import { type App, createApp, listen } from "./http/app.ts";
import { Peers } from "./http/peers.ts";
import { bootKeeper } from "./killswitch/boot-files.ts";
import { KillSwitch } from "./killswitch/killswitch.ts";
import { finalRulesStand } from "./killswitch/listing.ts";
import { Repairs } from "./killswitch/repairs.ts";
import { listTable } from "./killswitch/table.ts";
import { Log } from "./log.ts";
import { type HostNetwork, hostNetworkOf, type Ipv6, lanText } from "./network/host-network.ts";
import { answerOperator, type OperatorAnswers } from "./operator/operator.ts";
import type { Settings } from "./settings.ts";
import { claimGateway } from "./system/claim.ts";
import type { Host } from "./system/host.ts";
import { LinuxHost } from "./system/linux.ts";
import { assertMachine } from "./system/machine.ts";

/** Work in progress ends within milliseconds; systemd waits for 90 s. */
const STOP_WITHIN_MS = 5_000;
/** People wait for an address that comes with a cable. */
const LISTEN_AGAIN_MS = 1_000;

export interface Service {
  port: number;
  /** Stops answering; the kernel's state stays as it is. */
  stop(): Promise<void>;
}

/** Puts the kill switch in place, then answers on the HTTP interface. */
export async function serve(settings: Settings): Promise<Service> {
  // Only root may use the database and the operator's socket.
  process.umask(0o077);
  assertMachine(settings.netns);
  await claimGateway(settings, new Log(settings.logLevel));
  const keepForBoot = bootKeeper(settings.stateDir, new LinuxHost(), new Log(settings.logLevel));
  const graph = await graphOf(settings, keepForBoot).catch(async (error: unknown) => {
    await raiseKillSwitch(settings, (host) => hostNetworkOf(host, settings));
    throw error;
  });
  const { controller, supervisor, catalogue, updates, httpsClient, log } = graph;
  await controller.start(catalogue.all()).catch(async (error: unknown) => {
    if (graph.savedState.killSwitchWanted()) await raiseKillSwitch(settings, graph.findNetwork);
    throw error;
  });
  // The text of a long server list takes twice the memory of the list itself, which a Pi needs for other things.
  Bun.gc(true);
  if (controller.lans.length === 0)
    log.warn("no LAN interface has a private address: only this machine can reach the gateway");
  else log.info(`LAN: ${lanText(graph.killSwitch.network, settings)}`);
  const operator = answerOperator(settings.stateDir, answersOf(graph), { clock: graph.host, log });
  const gateway = gatewayOf({ ...graph, clock: graph.host });
  for (const [code, message] of graph.damages) graph.events.alarm(code, message);
  graph.savedState.save();
  // In the namespace in which this process listens.
  const peers = new Peers(new LinuxHost());
  const app = createApp(gateway, {
    names: [hostname()],
    lan: () => controller.lans.flatMap((lan) => lan.prefixes),
    // Requests never arrive on the interfaces of another namespace.
    interfaces: () => (settings.netns === null ? controller.lans.map((lan) => lan.interface) : []),
    interfaceOf: (address, port) => peers.interfaceOf(address, port),
    clock: graph.host,
    log: (method, path, status, ms) => log.debug(`${method} ${path} ${status} ${ms.toFixed(1)} ms`),
    fault: (message) => log.error(message),
  });
  if (updates.isFetched && catalogue.managed.listed().length === 0)
    log.info(
      "the provider managed has no servers yet; its list is fetched through the first tunnel, or by: portcullis servers update",
    );
  const stopping = new AbortController();
  const http = listenWhenThere(app, graph, stopping.signal);
  const killSwitch = graph.savedState.killSwitchWanted() ? "is in place" : "is off, as the operator wants it";
  log.info(`Portcullis answers on port ${http.port}; the kill switch ${killSwitch}`);
  void supervisor.watch(stopping.signal);
  void graph.savedState.keepSaving(graph.host, stopping.signal);
  void graph.store.keepScrubbed(graph.host, stopping.signal);
  const keepFresh = () => updates.tunnelIs(controller.state.name === "connected", httpsClient.sendInside);
  controller.onChange(keepFresh);
  keepFresh();
  return {
    port: http.port,
    stop: async () => {
      stopping.abort();
      await Promise.race([controller.stop(), graph.host.sleep(STOP_WITHIN_MS)]);
      operator.stop();
      await http.stop();
    },
  };
}

function answersOf(graph: Graph): OperatorAnswers {
  const { controller, updates, httpsClient } = graph;
  const backup = liveBackup(graph);
  const account = graph.accountsBy(httpsClient.send);
  const turn = async (wanted: boolean) => {
    await controller.setKillSwitch(wanted);
    return null;
  };
  return {
    killswitch: () => controller.inspection(),
    "killswitch/on": () => turn(true),
    "killswitch/off": () => turn(false),
    backup: async () => backup.take(),
    restore: ({ contents, may }) => backup.restore(contents, may),
    "servers/update": (options) => updates.update(httpsClient.send, options),
    account: () => account.show(),
    "account/login": ({ provider, credentials }) => account.logIn(provider, credentials),
    "account/logout": ({ forget }) => account.logOut(forget),
    "account/rotate-key": () => account.rotateKey(),
  };
}

/** If the service cannot start, it cannot know that the operator wants the kill switch off: puts it in place. */
async function raiseKillSwitch(
  settings: Settings,
  findNetwork: (host: Host) => Promise<HostNetwork>,
): Promise<void> {
  const host = new LinuxHost(settings.netns);
  // What an earlier service left in place is as closed, and may hold a live tunnel.
  const listing = await listTable(host);
  if (listing !== null && finalRulesStand(listing)) return;
  const log = new Log(settings.logLevel);
  const alarm = (code: AlertCode, message: string) => log.warn(`security_alert ${code}: ${message}`);
  const killSwitch = new KillSwitch(host, () => true, new Repairs(host, alarm), alarm);
  await killSwitch.updateNetwork(await findNetwork(host));
}

/** Waits for an address that this machine does not have yet, such as that of a LAN whose cable is out. */
function listenWhenThere(app: App, { settings, host, log, killSwitch }: Graph, signal: AbortSignal) {
  let http = listenOn(app, settings, killSwitch.network.ipv6);
  const tryAgain = async (): Promise<void> => {
    await host.sleep(LISTEN_AGAIN_MS, signal);
    if (signal.aborted) return;
    http = listenOn(app, settings, killSwitch.network.ipv6);
    if (http === null) return tryAgain();
    log.info(`${settings.host} is now an address of this machine: Portcullis answers there`);
  };
  if (http === null) {
    log.warn(
      `${settings.host} is not an address of this machine yet: Portcullis will answer there as soon as it is`,
    );
    void tryAgain().catch((error) => log.error(messageOf(error)));
  }
  return { port: http?.port ?? settings.port, stop: async () => http?.stop() };
}

/** Null if this machine does not have the address. */
function listenOn(app: App, { host, port }: Settings, ipv6: Ipv6): ReturnType<typeof listen> | null {
  try {
    // On a kernel without IPv6, "every address" is IPv4's.
    return listen(app, host === "::" && ipv6 === "missing" ? "0.0.0.0" : host, port);
  } catch (cause) {
    if (isIP(host) !== 0 && (cause as NodeJS.ErrnoException).code === "EADDRNOTAVAIL") return null;
    throw new GatewayError(
      "unable",
      `cannot listen on ${host} port ${port}: ${messageOf(cause)}; choose another with --host or --port`,
      {
        cause,
      },
    );
  }
}
