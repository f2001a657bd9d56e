import type { Alarm } from "../base/alert.ts";
import { alertText } from "../base/alert-rows.ts";
import { Log } from "../base/log.ts";
import { nextTurn } from "../base/queue.ts";
import type { Settings } from "../base/settings.ts";
import { bootKeeper } from "../killswitch/boot-files.ts";
import { KillSwitch } from "../killswitch/killswitch.ts";
import { finalRulesStand } from "../killswitch/listing.ts";
import { Repairs } from "../killswitch/repairs.ts";
import { listTable } from "../killswitch/table.ts";
import {
  type HostNetwork,
  hasTunnel,
  hostNetworkOf,
  type Reading,
  readNetwork,
} from "../network/host-network.ts";
import { claimGateway } from "../system/claim.ts";
import type { Host } from "../system/host.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertMachine, assertMeantHere } from "../system/machine.ts";
import { killSwitchPartsOn } from "./kill-switch-parts.ts";
import type { Parts } from "./parts.ts";
import type { Service } from "./service.ts";

// Everything but the kill switch is loaded while the kernel's tools are at work on it, in parts of some milliseconds.
const loadTunnel = () => import("../tunnel/tunnel.ts");
const loadGraph = () => import("./parts.ts");
const loadApp = () => import("../http/app.ts");
const loadService = () => import("./service.ts");

/** Puts the kill switch in place, then answers on the HTTP interface. */
export async function serve(settings: Settings): Promise<Service> {
  // Only root may use the database and the operator's socket.
  process.umask(0o077);
  assertMachine();
  assertMeantHere();
  const host = new LinuxHost();
  // Changes nothing, so it does not wait for the claim. If it fails, it is repeated and reported below.
  const reading = readNetwork(host).catch(() => null);
  await claimGateway(settings, new Log(settings.logLevel));
  const { parts, seen } = await raisedGraph(host, settings, reading).catch(async (error: unknown) => {
    await raiseKillSwitch(settings, (machine) => hostNetworkOf(machine, settings));
    throw error;
  });
  const { answer, appFor } = await loadService();
  const started = parts.tunnels.start(parts.catalogue, seen).catch(async (error: unknown) => {
    if (parts.killSwitch.isWanted) await raiseKillSwitch(settings, () => parts.findNetwork());
    throw error;
  });
  const app = appFor(parts);
  await started;
  return answer(parts, app);
}

/**
 * Puts the kill switch in place and loads the rest meanwhile. Only if an earlier process has left a tunnel, the
 * controller has to find its server first, and `seen` is null; until then the kill switch of that process is in place.
 */
async function raisedGraph(
  host: Host,
  settings: Settings,
  reading: Promise<Reading | null>,
): Promise<{ parts: Parts; seen: HostNetwork | null }> {
  const keepForBoot = bootKeeper(settings.stateDir, host, new Log(settings.logLevel));
  const killSwitchParts = killSwitchPartsOn(host, settings, keepForBoot);
  const read = await reading;
  const seen = read === null || hasTunnel(read, settings) ? null : await killSwitchParts.findNetwork(read);
  // If this fails, the controller's start tries it again, and reports it.
  const raised = seen === null ? null : killSwitchParts.killSwitch.updateNetwork(seen).catch(() => {});
  for (const load of [loadTunnel, loadGraph, loadApp, loadService]) {
    // What the kernel's tools say comes first.
    await nextTurn();
    await load();
  }
  const { partsOn } = await loadGraph();
  const parts = await partsOn(host, settings, killSwitchParts).catch(async (error: unknown) => {
    await raised;
    throw error;
  });
  return { parts, seen };
}

/** If the service cannot start, it cannot know that the operator wants the kill switch off: puts it in place. */
async function raiseKillSwitch(
  settings: Settings,
  findNetwork: (host: Host) => Promise<HostNetwork>,
): Promise<void> {
  const host = new LinuxHost();
  // What an earlier service left in place is as closed, and may hold a live tunnel.
  const listing = await listTable(host);
  if (listing !== null && finalRulesStand(listing)) return;
  const log = new Log(settings.logLevel);
  const alarm: Alarm = (code, args) => log.warn(`security_alert ${code}: ${alertText(code, args)}`);
  const killSwitch = new KillSwitch(host, () => true, new Repairs(host, alarm), alarm);
  await killSwitch.updateNetwork(await findNetwork(host));
}
