import { join } from "node:path";
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
import { Bounds } from "../network/bounds.ts";
import { FairQueues } from "../network/fair-queues.ts";
import { type FindNetwork, networkFinder } from "../network/finder.ts";
import type { HostNetwork } from "../network/host-network.ts";
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
export interface KillSwitchParts {
  log: Log;
  store: Store;
  journal: Journal;
  history: History;
  events: Bus<GatewayEvents>;
  alerts: Alerts;
  savedState: SavedState;
  findNetwork: FindNetwork;
  repairs: Repairs;
  killSwitch: KillSwitch;
  devices: Devices;
  destinations: Destinations;
  remote: RemoteDevices;
  otherRouters: OtherRouters;
  bounds: Bounds;
  fairQueues: FairQueues;
}

/** Nothing has touched the kernel yet. `note` gets the machine's network each time it is looked up. */
export function killSwitchPartsOn(
  host: Host,
  settings: Settings,
  note: (network: HostNetwork) => void = () => {},
): KillSwitchParts {
  const log = new Log(settings.logLevel);
  const events = new Bus<GatewayEvents>((fault) => log.error(fault));
  const store = Store.open(settings.stateDir, host.now(), events);
  const journal = new Journal({ clock: host, store, log });
  const history = new History({ clock: host, store, log, isKept: settings.history });
  const alerts = new Alerts({ clock: host, log, journal, events });
  const alarm = alerts.raise;
  setAsideOdd(
    store,
    [KILL_SWITCH, DIRECT, DEFAULT_EXIT, DESTINATIONS, SCHEDULES, DNS_LISTS],
    host.now(),
    alarm,
  );
  const savedState = new SavedState(store, alarm);
  const find = networkFinder(host, settings, savedState, log);
  const reported = new Set<string>();
  const reportOnce = (error: unknown) => {
    const message = `the LAN has no IPv6 router: ${messageOf(error)}`;
    if (!reported.has(message)) log.warn(message);
    reported.add(message);
    return false;
  };
  const findNetwork: FindNetwork = async (reading) => {
    // Before the first load, which replaces the table.
    const [known] = await Promise.all([find(reading), takenOver()]);
    const network = (await keepUla(host, known, settings).catch(reportOnce)) ? await find() : known;
    note(network);
    devices.lanIs(network.lans, network.uplink, network.addresses, network.routers);
    otherRouters.networkIs(network);
    fairQueues.lanIs(network.lans.map((lan) => lan.interface));
    return network;
  };
  const repairs = new Repairs(host, alarm);
  const killSwitch = new KillSwitch(host, () => isKillSwitchWanted(savedState), repairs, alarm);
  killSwitch.slots = allSlots(settings.interface);
  const remote = new RemoteDevices({ store, killSwitch, link: remoteLinkOf(settings.interface) });
  const devices = new Devices({
    ...{ host, store, killSwitch, log },
    dhcp: dhcpHostsOf(settings),
    remote,
    tunnelNames: () => [MAIN, ...[...savedState.tunnels().keys()].sort()],
    alarm,
    zone: () => zoneIn(TIME_ZONE.read(store)) ?? timeZone(),
    forgetHistory: (id) => history.forget({ kind: "device", name: id }),
    onCarried: (id, carried) => history.note("device", id, carried),
    publish: (payload) => events.publish({ type: "device_update", payload }),
    publishRemoved: (id) => events.publish({ type: "device_removed", payload: { id } }),
    publishShared: () => events.publish({ type: "shared_limits", payload: null }),
  });
  killSwitch.deviceAt = (address) => devices.roster.deviceAt(address);
  const destinations = new Destinations({
    ...{ clock: host, store, killSwitch, devices, alarm },
    listing: () => listTable(host),
    connectedTo: () => connectedTo(host),
    kept: addressesFile(settings),
    onChange: (count) => events.publish({ type: "destinations_update", payload: { count } }),
  });
  let taking: Promise<void> | null = null;
  const takenOver = () => {
    taking ??= destinations.takeOver();
    return taking;
  };
  const fairQueues = new FairQueues({
    host,
    store,
    log,
    isTunnel: (link) => killSwitch.slots.some(({ links }) => links.includes(link)),
  });
  const otherRouters = new OtherRouters({ host, alarm, log });
  // The kill switch loads nothing before it knows the network: the first load has the exits.
  void devices.load();
  void destinations.load();
  void remote.load();
  if (destinations.matching.hasNames || isBlocking(wantedLists(DNS_LISTS.read(store))))
    holdQuestions(killSwitch);
  return {
    log,
    store,
    journal,
    history,
    events,
    alerts,
    savedState,
    findNetwork,
    repairs,
    killSwitch,
    devices,
    destinations,
    remote,
    otherRouters,
    bounds: new Bounds({ host, ports: [settings.port, settings.https ?? []].flat(), alarm, log }),
    fairQueues,
  };
}

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
    if (told !== null) alarm("state_damaged", told);
  } catch (error) {
    alarm("state_damaged", `Stored settings could not be read in full: ${messageOf(error)}`);
  }
}

/** Under systemd, which makes a folder that the DHCP server can read. */
function dhcpHostsOf({ dhcp, stateDir }: Settings): DhcpHosts | null {
  if (dhcp === null) return null;
  const folder = process.env.CACHE_DIRECTORY;
  return { file: join(folder ?? stateDir, HOSTS_FILE), unit: folder === undefined ? null : DHCP_UNIT };
}
