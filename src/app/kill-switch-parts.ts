import { join } from "node:path";
import { AccessPoint } from "../access/access-point.ts";
import { Claim } from "../access/claim.ts";
import { PortFinder } from "../access/port-finder.ts";
import { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import { connectedTo } from "../destinations/connected.ts";
import { Destinations } from "../destinations/destinations.ts";
import { ADDRESSES_FILE } from "../destinations/kept-addresses.ts";
import { DESTINATIONS } from "../destinations/saved.ts";
import { Devices } from "../devices/devices.ts";
import type { DhcpHosts } from "../devices/fixed.ts";
import { NETWORKS } from "../devices/network-record.ts";
import { DEFAULT_EXIT, DIRECT } from "../devices/record.ts";
import { DHCP_UNIT, HOSTS_FILE } from "../dhcp/files.ts";
import { holdQuestions } from "../dns/dns.ts";
import { DNS_LISTS, isBlocking, wantedLists } from "../dns/wanted-lists.ts";
import { History } from "../history/history.ts";
import { Alerts } from "../journal/alerts.ts";
import { Journal } from "../journal/journal.ts";
import { KillSwitch } from "../killswitch/killswitch.ts";
import { isKillSwitchWanted, KILL_SWITCH } from "../killswitch/operator-switch.ts";
import { MAIN } from "../killswitch/policy.ts";
import { Repairs } from "../killswitch/repairs.ts";
import { listTable } from "../killswitch/table.ts";
import { ConntrackGuard } from "../network/bounds.ts";
import { withMeshes } from "../network/entrances.ts";
import { FairQueues } from "../network/fair-queues.ts";
import { type FindNetwork, networkFinder } from "../network/finder.ts";
import { type HostNetwork, readNetwork } from "../network/host-network.ts";
import { ROLES } from "../network/lan.ts";
import { OtherRouters } from "../network/other-routers.ts";
import { allSlots, remoteLinkOf } from "../network/slot.ts";
import { keepUla } from "../network/ula.ts";
import { RemoteDevices } from "../remote/devices.ts";
import { SCHEDULES } from "../schedules/schedule.ts";
import { TIME_ZONE, zoneIn } from "../schedules/zone.ts";
import { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { TextFile } from "../system/text-file.ts";
import { timeZone } from "../system/time-zone.ts";
import { SavedState } from "../tunnel/saved-state.ts";
import type { GatewayEvents } from "./events.ts";
import { type Kept, setAside } from "./set-aside.ts";

/** The parts that the kill switch needs, wired together. A start loads the others while the kernel is at work. */
export type KillSwitchParts = ReturnType<typeof killSwitchPartsOn>;

type KeptParts = ReturnType<typeof keptPartsOn>;

/** Nothing has touched the kernel yet. `note` gets the machine's network each time it is looked up. */
export function killSwitchPartsOn(
  host: Host,
  settings: Settings,
  note: (network: HostNetwork) => void = () => {},
) {
  const kept = keptPartsOn(host, settings);
  const parts = { ...kept, ...guardedPartsOn(host, settings, kept) };
  const { store, killSwitch, devices, destinations, remote } = parts;
  // The kill switch loads nothing before it knows the network: the first load has the exits.
  void devices.reload();
  void destinations.reload();
  void remote.decision.reload();
  if (destinations.matching.hasNames || isBlocking(wantedLists(DNS_LISTS.read(store))))
    holdQuestions(killSwitch);
  return { ...parts, findNetwork: networkFoundBy({ ...parts, host, settings, note }) };
}

/** What is kept over restarts, and what tells of it. */
function keptPartsOn(host: Host, settings: Settings) {
  const log = new Log(settings.logLevel);
  const events = new Bus<GatewayEvents>((fault) => log.error(fault));
  const store = Store.open(settings.stateDir, host.now(), events);
  const journal = new Journal({ clock: host, store, log });
  const history = new History({ clock: host, store, log, isKept: settings.history });
  const alerts = new Alerts({ clock: host, log, journal, events });
  setAsideOdd(store, DECIDED, host.now(), alerts.raise);
  const savedState = new SavedState(store, alerts.raise);
  const claim = new Claim(host, settings.stateDir);
  const portFinder = new PortFinder({ host, claim, store, settings, alarm: alerts.raise, log });
  const accessPoint = new AccessPoint({ host, claim, store, log });
  return {
    ...{ log, events, store, journal, history, alerts, savedState, claim, portFinder, accessPoint },
    failing: new Map<string, string>(),
  };
}

function guardedPartsOn(host: Host, settings: Settings, kept: KeptParts) {
  const { store, log, events, savedState, alerts } = kept;
  const alarm = alerts.raise;
  const slots = allSlots(settings.interface);
  const repairs = new Repairs(host, alarm);
  const isOn = () => isKillSwitchWanted(savedState);
  const killSwitch = new KillSwitch(host, isOn, repairs, alarm, { slots, events });
  const remote = new RemoteDevices({ store, killSwitch, events, link: remoteLinkOf(settings.interface) });
  const devices = devicesOn({ ...kept, host, settings, killSwitch, remote });
  const isTunnel = (link: string) => slots.some(({ links }) => links.includes(link));
  return {
    ...{ repairs, killSwitch, remote, devices },
    destinations: new Destinations({
      ...{ clock: host, store, killSwitch, devices, alarm, events },
      listing: () => listTable(host),
      connectedTo: () => connectedTo(host),
      kept: addressesFile(settings),
    }),
    fairQueues: new FairQueues({ host, store, log, isTunnel }),
    otherRouters: new OtherRouters({ host, alarm, log }),
    bounds: new ConntrackGuard({ host, ports: [settings.port, settings.https ?? []].flat(), alarm, log }),
  };
}

interface DevicesNeeds extends KeptParts {
  host: Host;
  settings: Settings;
  killSwitch: KillSwitch;
  remote: RemoteDevices;
}

function devicesOn(needs: DevicesNeeds): Devices {
  const { settings, store, history, savedState, alerts } = needs;
  return new Devices({
    ...needs,
    dhcp: dhcpHostsOf(settings),
    tunnelNames: () => [MAIN, ...[...savedState.tunnels().keys()].sort()],
    alarm: alerts.raise,
    // Before the first look at the network adds to them.
    lanBefore: ROLES.read(savedState).lan,
    meshes: settings.mesh,
    zone: () => zoneIn(TIME_ZONE.read(store)) ?? timeZone(),
    forgetHistory: (id) => history.forget({ kind: "device", name: id }),
    onCarried: (id, carried) => history.note("device", id, carried),
  });
}

interface FindNeeds extends KeptParts, ReturnType<typeof guardedPartsOn> {
  host: Host;
  settings: Settings;
  note: (network: HostNetwork) => void;
}

/** Looks the machine's network up, and tells those that follow it. */
function networkFoundBy(needs: FindNeeds): FindNetwork {
  const { host, settings, savedState, log, devices, destinations, otherRouters, fairQueues, note } = needs;
  const found = networkFinder(host, settings, savedState, log);
  const find: FindNetwork = async (given) => {
    const reading = given ?? (await readNetwork(host));
    return needs.portFinder.served(await found(reading), reading);
  };
  const reported = new Set<string>();
  const reportOnce = (error: unknown) => {
    const message = `the LAN has no IPv6 router: ${messageOf(error)}`;
    if (!reported.has(message)) log.warn(message);
    reported.add(message);
    return false;
  };
  let taking: Promise<void> | null = null;
  return async (reading) => {
    // Before the first load, which replaces the table.
    taking ??= destinations.takeOver();
    const [known] = await Promise.all([find(reading), taking]);
    const network = (await keepUla(host, known, settings).catch(reportOnce)) ? await find() : known;
    note(network);
    devices.lanIs(withMeshes(network).lans, network.uplink, network.addresses, network.routers);
    otherRouters.networkIs(network);
    fairQueues.lanIs(network.lans.map((lan) => lan.interface));
    return network;
  };
}

/** What the kill switch reads of what people have decided. */
const DECIDED = [KILL_SWITCH, DIRECT, DEFAULT_EXIT, NETWORKS, DESTINATIONS, SCHEDULES, DNS_LISTS];

/**
 * The addresses of names change too often for a memory card, and are worth nothing after a restart of the machine: under
 * systemd they are in memory.
 */
function addressesFile({ stateDir }: Settings): TextFile {
  return new TextFile(join(process.env.RUNTIME_DIRECTORY ?? stateDir, ADDRESSES_FILE));
}

/** Whatever decides about traffic is in order before anything reads it. A disk that is full must not keep it from a start. */
export function setAsideOdd(store: Store, kept: readonly Kept[], now: number, alarm: Alerts["raise"]): void {
  try {
    const told = setAside(store, kept, now);
    if (told !== null) alarm("state_damaged", { what: "other", reason: told });
  } catch (error) {
    alarm("state_damaged", { what: "unread", reason: messageOf(error) });
  }
}

/** Under systemd, which makes a folder that the DHCP server can read. */
function dhcpHostsOf({ dhcp, stateDir }: Settings): DhcpHosts | null {
  if (dhcp === null) return null;
  const folder = process.env.CACHE_DIRECTORY;
  return { file: join(folder ?? stateDir, HOSTS_FILE), unit: folder === undefined ? null : DHCP_UNIT };
}
