import { hostname } from "node:os";
import { Tokens } from "../access/tokens.ts";
import { ClientBackups } from "../backup/clients.ts";
import { type LiveBackup, liveBackup } from "../backup/live.ts";
import { type Prefix, prefixOf } from "../base/address.ts";
import type { AlertCode } from "../base/alert.ts";
import { parseMac } from "../base/mac.ts";
import type { Settings } from "../base/settings.ts";
import { Https } from "../certificates/https.ts";
import { Checkup } from "../checks/checkup.ts";
import { DEVICE_LISTS } from "../devices/record.ts";
import type { Askers } from "../dns/asker-ports.ts";
import { BlockLists } from "../dns/block-lists.ts";
import { Dns } from "../dns/dns.ts";
import { exitResolvers } from "../dns/exit-resolvers.ts";
import { HomeZone } from "../dns/home-zone.ts";
import { publicHomeOf } from "../dns/public-home.ts";
import { QueryLog } from "../dns/query-log.ts";
import { Resolver } from "../dns/resolver.ts";
import { Upstream } from "../dns/upstream.ts";
import { Forwards } from "../forwards/forwards.ts";
import { type Openers, openerFor } from "../forwards/opener-for.ts";
import { FORWARDS } from "../forwards/saved.ts";
import { UPLINK } from "../history/quality-ring.ts";
import type { Alerts } from "../journal/alerts.ts";
import { journalOf } from "../journal/tunnel-states.ts";
import { OperatorSwitch } from "../killswitch/operator-switch.ts";
import { listeningOn } from "../killswitch/own-resolver.ts";
import { MqttStatus } from "../mqtt/status.ts";
import { LINE } from "../network/fair-queues.ts";
import { ADDED_TARGETS, Notifications } from "../notifications/notifications.ts";
import { NatPmpOpener } from "../port-mapping/opener.ts";
import { NatPmpServer } from "../port-mapping/server.ts";
import { Accounts } from "../providers/accounts.ts";
import { applyAccount } from "../providers/apply-account.ts";
import { listSourceOf } from "../providers/given.ts";
import { isManagedInUse } from "../providers/in-use.ts";
import { VPN_PROVIDERS } from "../providers/list.ts";
import { ownEndOf } from "../providers/own-end.ts";
import { AccountOpener } from "../providers/ports.ts";
import { MANAGED_PROVIDER, Registrations } from "../providers/registrations.ts";
import { RemoteAccess } from "../remote/access.ts";
import { REMOTE_DECISION, REMOTE_PEERS, REMOTE_PRIVATE_KEY } from "../remote/saved.ts";
import { moveElsewhere } from "../schedules/move.ts";
import { Schedules } from "../schedules/schedules.ts";
import { TIME_ZONE } from "../schedules/zone.ts";
import { alternativesTo } from "../servers/alternatives.ts";
import { Catalogue, CURRENT_PROVIDER } from "../servers/catalogue.ts";
import { FAVOURITES, Favourites } from "../servers/favourites.ts";
import { ManagedList } from "../servers/managed.ts";
import { keyedLike } from "../servers/quantum.ts";
import type { Server } from "../servers/schema.ts";
import { reachedLike } from "../servers/transport.ts";
import { Updates } from "../servers/updates.ts";
import { lookUpInside } from "../speed/look-up.ts";
import { SpeedTests } from "../speed/speed-tests.ts";
import type { Host, Send } from "../system/host.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertMachine } from "../system/machine.ts";
import { timeZone } from "../system/time-zone.ts";
import { ConnectRequests } from "../tunnel/connect-requests.ts";
import { CONNECTION } from "../tunnel/connection.ts";
import { KEY_WISHES } from "../tunnel/key-wishes.ts";
import { LAST } from "../tunnel/last.ts";
import { Overview } from "../tunnel/overview.ts";
import { PastConnections } from "../tunnel/past-connections.ts";
import { QUALITY, QualitySettings } from "../tunnel/quality-settings.ts";
import { carriedBy } from "../tunnel/state.ts";
import { AUTOCONNECT, FAILOVER, Switches } from "../tunnel/switches.ts";
import type { Tunnel } from "../tunnel/tunnel.ts";
import { Tunnels } from "../tunnel/tunnels.ts";
import { type KillSwitchParts, killSwitchPartsOn, setAsideOdd } from "./kill-switch-parts.ts";
import { publishChanges } from "./publisher.ts";

/** The parts of a gateway, wired together; nothing has touched the kernel yet. */
export interface Parts extends KillSwitchParts, Pick<Tunnels, "httpsClient"> {
  tunnels: Tunnels;
  operatorSwitch: OperatorSwitch;
  overview: Overview;
  /** Answers the LAN's questions while anything needs that. */
  dns: Dns;
  blockLists: BlockLists;
  queryLog: QueryLog;
  connects: ConnectRequests;
  past: PastConnections;
  /** Belongs to the tunnel `main`. */
  controller: Tunnel["controller"];
  settings: Settings;
  catalogue: Catalogue;
  favourites: Favourites;
  forwards: Forwards;
  /** Answers devices of the LAN that ask for ports by themselves. */
  portMapping: NatPmpServer;
  updates: Updates;
  remoteAccess: RemoteAccess;
  schedules: Schedules;
  host: Host;
  /** The operator's accounts at providers. */
  accounts: Accounts;
  /** The same, with providers contacted through `send`, for a command while no service runs. */
  accountsBy: (send: Send, alarm: Alerts["raise"]) => Accounts;
  /** Makes managed servers use the account in the store. */
  takeUpAccount: () => Promise<void>;
  checkup: Checkup;
  notifications: Notifications;
  /** For clients of the HTTP interface. */
  tokens: Tokens;
  /** For the operator's commands. */
  liveBackup: LiveBackup;
  /** For clients of the HTTP interface. */
  backups: ClientBackups;
  /** What is known of HTTPS beside HTTP. */
  https: Https;
  /** What is known of the connection to the MQTT broker. */
  mqtt: MqttStatus;
  switches: Switches;
  qualitySettings: QualitySettings;
  speedTests: SpeedTests;
  /** What was found damaged, for alerts once there are listeners. */
  damages: [AlertCode, string][];
}

export async function partsOf(settings: Settings): Promise<Parts> {
  assertMachine();
  return partsOn(new LinuxHost(), settings);
}

/** The same on a given machine. */
export async function partsOn(
  host: Host,
  settings: Settings,
  killSwitchParts = killSwitchPartsOn(host, settings),
): Promise<Parts> {
  const { log, store, events, savedState } = killSwitchParts;
  const alarm = killSwitchParts.alerts.raise;
  setAsideOdd(store, KEPT, host.now(), alarm);
  const registrations = new Registrations(store, settings);
  const current = registrations.current();
  const source = listSourceOf(settings, current.provider);
  const managed = new ManagedList(await ownEndOf(host, settings, current));
  await managed.load(host, source, store);
  const catalogue = new Catalogue(store, managed);
  const favourites = new Favourites(store, catalogue, (count) =>
    events.publish({ type: "favourites_update", payload: { count } }),
  );
  const userspace = process.env.WG_QUICK_USERSPACE_IMPLEMENTATION ?? "wireguard-go";
  const switches = new Switches(settings, store);
  const qualitySettings = new QualitySettings(store);
  const tunnels = new Tunnels({
    ...killSwitchParts,
    host,
    base: settings.interface,
    userspace,
    autoconnect: switches.autoconnect,
    qualitySettings,
    register: (server, send) => accounts.register(server, send),
    latest: (server) => {
      const latest = catalogue.server(server.provider, server.name, server.via?.name);
      return latest && (reachedLike(latest, server) ?? keyedLike(latest, server));
    },
    onOtherFirewalls: () => {
      killSwitchParts.devices.firewallsChanged();
      void killSwitchParts.bounds.check();
    },
    onAdopted: () => {
      killSwitchParts.devices.inForce.tunnelsAre(
        tunnels.all().map(({ name, controller }) => [name, controller.carriesData] as const),
      );
      queueTunnels();
    },
    onLost: (link) => remoteAccess.lost(link),
    onNeighbour: (neighbour) => killSwitchParts.devices.saw(neighbour),
    unlessUsed: (tunnel, remove) =>
      killSwitchParts.devices.unlessUsed(tunnel, () =>
        killSwitchParts.destinations.unlessUsed(tunnel, remove),
      ),
    found: (wanted, tunnel) => connects.found(wanted, tunnel),
    alternatives: (server) =>
      switches.failover
        ? alternativesTo(server, catalogue.all()).flatMap((each) => reachedLike(each, server) ?? [])
        : [],
    alarm,
  });
  const operatorSwitch = new OperatorSwitch({
    ...killSwitchParts,
    settle: (decide) => tunnels.main.controller.settle(decide),
    alarm,
  });
  const connects = new ConnectRequests({ ...killSwitchParts, tunnels, catalogue, host });
  const past = new PastConnections({
    ...{ savedState, catalogue },
    found: (wanted, tunnel) => connects.found(wanted, tunnel),
  });
  tunnels.onTunnel(({ name, controller }) => {
    const exists = () => name === tunnels.main.name || killSwitchParts.savedState.tunnels().has(name);
    controller.onChange(journalOf(name, killSwitchParts.journal, exists));
  });
  tunnels.onTunnel((tunnel) => tunnel.controller.onChange(() => void killSwitchParts.history.read(tunnel)));
  tunnels.onTunnel(({ name, controller }) =>
    controller.onChange(() => killSwitchParts.devices.inForce.tunnelIs(name, controller.carriesData)),
  );
  tunnels.onRemoved((name) => killSwitchParts.devices.inForce.forget(name));
  const { history } = killSwitchParts;
  tunnels.onTunnel(({ name, quality: { quality } }) => quality.onAsked((ms) => history.noteAsked(name, ms)));
  tunnels.uplink.quality.onAsked((ms) => history.noteAsked(UPLINK, ms));
  const companyOf = ({ provider, label, registers }: Server) =>
    // The one that registers the gateway, or the one in the record.
    (registers && registrations.current().provider) ||
    (VPN_PROVIDERS.find((each) => provider === "managed" && each.label === label) ?? null);
  const openers: Openers = {
    "nat-pmp": new NatPmpOpener({
      host,
      onLost: (way) => {
        void forwards.renewAll(way);
        remoteAccess.portsLost(way);
      },
    }),
    pia: new AccountOpener({
      accounts: { forwardPort: (...server) => accounts.forwardPort(...server) },
      send: (signal) => tunnels.httpsClient.sendOn({ inside: true }, signal),
      now: () => host.now(),
    }),
  };
  const forwards = new Forwards({
    ...{ ...killSwitchParts, host, tunnels },
    openerFor: (server, fixed) => openerFor(fixed, server, companyOf(server), openers),
    isReserved: (tunnel, inside) => remoteAccess.hasPort(tunnel, inside),
    publish: (payload) => {
      portMapping.changed(payload);
      events.publish({ type: "forward_update", payload });
    },
    publishRemoved: (payload) => {
      portMapping.removed(payload);
      events.publish({ type: "forward_removed", payload });
    },
  });
  const network = () => tunnels.main.controller.network;
  const portMapping = new NatPmpServer({ ...{ ...killSwitchParts, host, network }, ports: forwards });
  const onShrunk = (message: string) => alarm("list_shrunk", message);
  const updates = new Updates({ host, store, catalogue, log, onShrunk }, source);
  const schedules = new Schedules({
    ...killSwitchParts,
    clock: host,
    machineZone: timeZone,
    byTime: killSwitchParts.devices.byTime,
    assertPossible: (schedule) => {
      if (schedule.do === "move") tunnels.named(schedule.tunnel, "tunnel");
      else if (schedule.do === "exit") killSwitchParts.devices.choices.assertExit(schedule.value);
      else killSwitchParts.devices.choices.assertLimit(schedule.who, schedule.do);
    },
    move: async (tunnel) => moveElsewhere(tunnels.named(tunnel).controller, catalogue),
    alarm,
    onChange: (count) => events.publish({ type: "schedules_update", payload: { count } }),
  });
  const remoteAccess = new RemoteAccess({
    ...{ ...killSwitchParts, host, tunnels, userspace },
    openerFor: (server) => openerFor(null, server, companyOf(server), openers),
    isForwarded: (tunnel, inside) => forwards.isForwarded(tunnel, inside),
    decided: () =>
      new Set([
        ...schedules.list().schedules.flatMap(({ device }) => device ?? []),
        ...killSwitchParts.destinations.list().destinations.flatMap(({ devices }) => devices),
        ...blockLists.list().lists.flatMap(({ devices }) => devices),
      ]),
    ula: settings.ula,
    alarm,
    onChange: (payload) => events.publish({ type: "remote_update", payload }),
  });
  const { devices, destinations, killSwitch, fairQueues, remote } = killSwitchParts;
  const queueTunnels = () =>
    fairQueues.tunnelsAre(tunnels.all().flatMap(({ controller }) => carriedBy(controller.state)?.link ?? []));
  tunnels.onTunnel(({ controller }) => controller.onChange(queueTunnels));
  const blockLists = new BlockLists({
    ...{ host, store, log, onShrunk, send: tunnels.httpsClient.sendInside, stateDir: settings.stateDir },
    isConnected: () => tunnels.main.controller.state.name === "connected",
    onChange: () => dns.update(),
    tell: () => tellDns(),
  });
  const homeZone = new HomeZone({
    clock: host,
    devices: () => devices.named(),
    own: () => killSwitch.lans.flatMap((lan) => listeningOn(lan, killSwitch.network.addresses)),
    home: () => homeOf(killSwitch),
  });
  const queryLog = new QueryLog({
    ...{ clock: host, log, nameOf: (device) => devices.nameOf(device) ?? "" },
    tell: () => tellDns(),
  });
  const upstream = Upstream.on(host);
  const dns = new Dns({
    ...{ host, killSwitch, log },
    network: () => killSwitch.network,
    isWanted: () => blockLists.isUsed || destinations.matching.hasNames,
    askers: () => askersIn({ devices, destinations, blockLists }),
    routersTo: (network) => killSwitch.routersTo(network),
    tell: () => tellDns(),
    resolver: new Resolver({
      ...{ clock: host, log, upstream },
      exitOf: (id) => devices.wayOutOf(id),
      rules: () => destinations.matching,
      local: (question) => homeZone.answer(question),
      isBlocked: (names, device) => blockLists.blocks(names, device),
      // Phones look up how they reach the home also while they are there.
      mayLeadHome: (name) => blockLists.mayLeadHome(name) || name === remote.access?.endpoint?.host,
      asked: (match, device) => destinations.names.note(match, device),
      other: (name, device, addresses) => destinations.names.noteOther(name, device, addresses),
      permit: (named) => destinations.names.permit(named),
      resolversOf: (exit) => exitResolvers(exit, tunnels),
      home: () => homeOf(killSwitch),
      publicHome: () => publicHomeOf(killSwitch.network),
      answered: (question, answered) => queryLog.note(question, answered),
    }),
  });
  destinations.resolving = dns;
  destinations.isListed = (name, device) => blockLists.blocks([name], device);
  devices.onChange(() => dns.follow());
  const tellDns = () =>
    events.publish({
      type: "dns_update",
      payload: { state: dns.state, paused_until: blockLists.pausedUntilText },
    });
  const takeUp = async () => {
    await applyAccount({ settings, host, registrations, catalogue, updates });
    events.publish({ type: "account_update", payload: accounts.managed() });
  };
  const inUse = () => isManagedInUse(tunnels.all(), savedState);
  const accountsBy = (send: Send, alarm: Alerts["raise"]): Accounts =>
    new Accounts({
      ...{ settings, store, registrations, send, clock: host, inUse, takeUp, alarm },
      onLoggedOut: () => past.forgetGone("managed"),
    });
  const accounts = accountsBy(tunnels.httpsClient.send, alarm);
  const tokens = new Tokens(store, host);
  tokens.onChange((what) => alarm("access_changed", what));
  const live = liveBackup({
    ...{ ...killSwitchParts, host, catalogue, tunnels, operatorSwitch, accounts },
    ...{ forwards, schedules, remoteAccess, blockLists, qualitySettings, takeUpAccount: takeUp },
  });
  const backups = new ClientBackups({
    live,
    alarm,
  });
  const https = new Https(settings.https, settings.httpsCert === null);
  const mqtt = new MqttStatus(settings, () => events.publish({ type: "broker_update", payload: null }));
  const speedTests = new SpeedTests({
    ...{ host, store, log, tunnels, killSwitch },
    lookUp: (name, tunnel) =>
      lookUpInside(name, exitResolvers({ to: "tunnel", name: tunnel }, tunnels), upstream),
    onChange: (running) => events.publish({ type: "speed_update", payload: { running } }),
  });
  const overview = new Overview({ ...killSwitchParts, tunnels, catalogue, past, forwards });
  publishChanges({ ...killSwitchParts, tunnels, operatorSwitch, catalogue, overview });
  const damages: [AlertCode, string][] = [];
  if (tokens.alert !== null) damages.push(["state_damaged", tokens.alert]);
  if (store.alert !== null) damages.push(["state_damaged", store.alert]);
  if (registrations.shown()?.registration === "damaged") damages.push(["state_damaged", ACCOUNT_LOST]);
  return {
    ...killSwitchParts,
    tunnels,
    operatorSwitch,
    overview,
    dns,
    blockLists,
    queryLog,
    connects,
    past,
    controller: tunnels.main.controller,
    httpsClient: tunnels.httpsClient,
    settings,
    catalogue,
    favourites,
    forwards,
    portMapping,
    remoteAccess,
    updates,
    schedules,
    host,
    accounts,
    accountsBy,
    takeUpAccount: takeUp,
    checkup: new Checkup({
      ...killSwitchParts,
      ...{ host, settings, tunnels, dns, tokens, forwards, https, remoteAccess },
    }),
    notifications: new Notifications({
      ...{ host, store, log, hostname: hostname(), addresses: settings.notify },
      send: tunnels.httpsClient.sendWithin,
      isOpenTo: (target) => tunnels.httpsClient.isOpenTo(target),
      onChange: (what) => alarm("notifications_changed", what),
    }),
    tokens,
    liveBackup: live,
    backups,
    https,
    mqtt,
    switches,
    qualitySettings,
    speedTests,
    damages,
  };
}

/** Those who may ask the gateway's own resolver. Rules and lists for a device decide about it, too. */
function askersIn({
  devices,
  destinations,
  blockLists,
}: Pick<Parts, "devices" | "destinations" | "blockLists">): Askers {
  const { decided, others } = devices.roster.askers;
  const named: { devices: readonly string[] }[] = [
    ...destinations.matching.rules,
    ...blockLists.list().lists,
  ];
  const macs = named.flatMap((each) => each.devices).flatMap((id) => parseMac(id) ?? []);
  return { decided: [...new Set([...decided, ...macs])], others };
}

/** The networks and addresses that no name of the internet has. */
function homeOf({ lans, network, remote }: KillSwitchParts["killSwitch"]): Prefix[] {
  return [
    ...lans.flatMap(({ prefixes }) => prefixes),
    ...network.uplinkPrefixes,
    ...(remote?.networks ?? []),
    ...network.addresses.map(prefixOf),
  ];
}

/** What people have decided, besides what the kill switch has read before. An account and tokens have alerts of their own. */
const KEPT = [
  ...[...DEVICE_LISTS, FORWARDS, FAVOURITES, REMOTE_DECISION, REMOTE_PEERS, REMOTE_PRIVATE_KEY],
  ...[CURRENT_PROVIDER, MANAGED_PROVIDER, FAILOVER, AUTOCONNECT, TIME_ZONE, QUALITY, LINE, KEY_WISHES],
  ...[CONNECTION, LAST, ADDED_TARGETS],
];

const ACCOUNT_LOST = "The stored VPN account could not be read and is not used.";
