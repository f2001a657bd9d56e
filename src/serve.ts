import type { AlertCode } from "./alert.ts";
import type { Graph } from "./graph.ts";
import { groundOn } from "./ground.ts";
import { bootKeeper } from "./killswitch/boot-files.ts";
import { KillSwitch } from "./killswitch/killswitch.ts";
import { finalRulesStand } from "./killswitch/listing.ts";
import { Repairs } from "./killswitch/repairs.ts";
import { listTable } from "./killswitch/table.ts";
import { Log } from "./log.ts";
import {
  type HostNetwork,
  hasTunnel,
  hostNetworkOf,
  type Reading,
  readNetwork,
} from "./network/host-network.ts";
import { nextTurn } from "./queue.ts";
import type { Service } from "./service.ts";
import type { Settings } from "./settings.ts";
import { claimGateway } from "./system/claim.ts";
import type { Host } from "./system/host.ts";
import { LinuxHost } from "./system/linux.ts";
import { assertMachine } from "./system/machine.ts";

// Everything but the kill switch is loaded while the kernel's tools are at work on it, in parts of some milliseconds.
const loadTunnel = () => import("./tunnel/tunnel.ts");
const loadGraph = () => import("./graph.ts");
const loadApp = () => import("./http/app.ts");
const loadService = () => import("./service.ts");

/** Puts the kill switch in place, then answers on the HTTP interface. */
export async function serve(settings: Settings): Promise<Service> {
  // Only root may use the database and the operator's socket.
  process.umask(0o077);
  assertMachine(settings.netns);
  const host = new LinuxHost(settings.netns);
  // Changes nothing, so it does not wait for the claim. If it fails, it is repeated and reported below.
  const reading = readNetwork(host).catch(() => null);
  await claimGateway(settings, new Log(settings.logLevel));
  const { graph, seen } = await raisedGraph(host, settings, reading).catch(async (error: unknown) => {
    await raiseKillSwitch(settings, (machine) => hostNetworkOf(machine, settings));
    throw error;
  });
  const { answer, appFor } = await loadService();
  const started = graph.tunnels.start(graph.catalogue, seen).catch(async (error: unknown) => {
    if (graph.savedState.killSwitchWanted()) await raiseKillSwitch(settings, () => graph.findNetwork());
    throw error;
  });
  const app = appFor(graph);
  await started;
  return answer(graph, app);
}

/**
 * Puts the kill switch in place and loads the rest meanwhile. Only if an earlier process has left a tunnel, the
 * controller has to find its server first, and `seen` is null; until then the kill switch of that process is in place.
 */
async function raisedGraph(
  host: Host,
  settings: Settings,
  reading: Promise<Reading | null>,
): Promise<{ graph: Graph; seen: HostNetwork | null }> {
  const keepForBoot = bootKeeper(settings.stateDir, new LinuxHost(), new Log(settings.logLevel));
  const ground = groundOn(host, settings, keepForBoot);
  const read = await reading;
  const seen = read === null || hasTunnel(read, settings) ? null : await ground.findNetwork(read);
  // If this fails, the controller's start tries it again, and reports it.
  const raised = seen === null ? null : ground.killSwitch.updateNetwork(seen).catch(() => {});
  for (const load of [loadTunnel, loadGraph, loadApp, loadService]) {
    // What the kernel's tools say comes first.
    await nextTurn();
    await load();
  }
  const { graphOn } = await loadGraph();
  const graph = await graphOn(host, settings, ground).catch(async (error: unknown) => {
    await raised;
    throw error;
  });
  return { graph, seen };
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
