import { hostname } from "node:os";
import { Tokens } from "./access/tokens.ts";
import type { AlertCode } from "./alert.ts";
import { Checkup } from "./checks/checkup.ts";
import { openerFor } from "./forwards/choice.ts";
import { Forwards } from "./forwards/forwards.ts";
import { type Ground, groundOn } from "./ground.ts";
import { journalOf } from "./journal/tunnel-states.ts";
import { NatPmpOpener } from "./nat-pmp/opener.ts";
import { NatPmpServer } from "./nat-pmp/server.ts";
import { Notifications } from "./notifications/notifications.ts";
import { Accounts } from "./providers/accounts.ts";
import { listSourceOf } from "./providers/given.ts";
import { isManagedInUse } from "./providers/in-use.ts";
import { VPN_PROVIDERS } from "./providers/list.ts";
import { ownEndOf } from "./providers/own-end.ts";
import { AccountOpener } from "./providers/ports.ts";
import { Registrations } from "./providers/registrations.ts";
import { takeUpAccount } from "./providers/take-up.ts";
import { moveElsewhere } from "./schedules/move.ts";
import { Schedules } from "./schedules/schedules.ts";
import { alternativesTo } from "./servers/alternatives.ts";
import { Catalogue } from "./servers/catalogue.ts";
import { Favourites } from "./servers/favourites.ts";
import { ManagedList } from "./servers/managed.ts";
import type { Server } from "./servers/schema.ts";
import { Updates } from "./servers/updates.ts";
import type { Settings } from "./settings.ts";
import type { Host, Send } from "./system/host.ts";
import { LinuxHost } from "./system/linux.ts";
import { assertMachine } from "./system/machine.ts";
import { timeZone } from "./system/time-zone.ts";
import type { Tunnel } from "./tunnel/tunnel.ts";
import { Tunnels } from "./tunnels/tunnels.ts";

/** The parts of a gateway, wired together; nothing has touched the kernel yet. */
export interface Graph extends Ground, Pick<Tunnels, "httpsClient"> {
  tunnels: Tunnels;
  /** Of the tunnel `main`. */
  controller: Tunnel["controller"];
  settings: Settings;
  catalogue: Catalogue;
  favourites: Favourites;
  forwards: Forwards;
  /** Answers devices of the LAN that ask for ports by themselves. */
  portMapping: NatPmpServer;
  updates: Updates;
  schedules: Schedules;
  host: Host;
  /** The operator's accounts at providers. */
  accounts: Accounts;
  /** The same, with providers contacted through `send`. */
  accountsBy: (send: Send) => Accounts;
  /** Makes managed servers use the account in the store. */
  takeUpAccount: () => Promise<void>;
  checkup: Checkup;
  notifications: Notifications;
  /** For clients of the HTTP interface. */
  tokens: Tokens;
  /** What was found damaged, for alerts once there are listeners. */
  damages: [AlertCode, string][];
}

export async function graphOf(settings: Settings): Promise<Graph> {
  assertMachine(settings.netns);
  return graphOn(new LinuxHost(settings.netns), settings);
}

/** The same on a given machine. */
export async function graphOn(
  host: Host,
  settings: Settings,
  ground = groundOn(host, settings),
): Promise<Graph> {
  const { log, store, events, savedState } = ground;
  const registrations = new Registrations(store, settings);
  const current = registrations.current();
  const source = listSourceOf(settings, current.provider);
  const managed = new ManagedList(await ownEndOf(host, settings, current));
  await managed.load(host, source, store);
  const catalogue = new Catalogue(store, managed);
  const favourites = new Favourites(store, catalogue, (count) =>
    events.publish({ type: "favourites_update", payload: { count } }),
  );
  const tunnels = new Tunnels({
    ...ground,
    host,
    base: settings.interface,
    userspace: process.env.WG_QUICK_USERSPACE_IMPLEMENTATION ?? "wireguard-go",
    autoconnect: settings.autoconnect,
    register: (server, send) => accounts.register(server, send),
    latest: ({ provider, name, via }) => catalogue.server(provider, name, via?.name),
    onOtherFirewalls: () => {
      ground.devices.firewallsChanged();
      void ground.bounds.check();
    },
    onNeighbour: (neighbour) => ground.devices.saw(neighbour),
    unlessUsed: (tunnel, remove) => ground.devices.unlessUsed(tunnel, remove),
    alternatives: (server) => (settings.failover ? alternativesTo(server, catalogue.all()) : []),
    alarm: (code, message) => events.alarm(code, message),
  });
  tunnels.onTunnel(({ name, controller }) => {
    const exists = () => name === tunnels.main.name || ground.savedState.tunnels().has(name);
    controller.onChange(journalOf(name, ground.journal, exists));
  });
  tunnels.onTunnel((tunnel) => tunnel.controller.onChange(() => void ground.history.read(tunnel)));
  const companyOf = ({ provider, label, registers }: Server) =>
    // The one that registers the gateway, or the one in the record.
    (registers && registrations.current().provider?.name) ??
    VPN_PROVIDERS.find((each) => provider === "managed" && each.label === label)?.name ??
    null;
  const openers = {
    "nat-pmp": new NatPmpOpener({ host, onLost: (way) => void forwards.renewAll(way) }),
    pia: new AccountOpener({
      accounts: { forwardPort: (...server) => accounts.forwardPort(...server) },
      send: (signal) => tunnels.httpsClient.sendOn({ inside: true }, signal),
      now: () => host.now(),
    }),
  };
  const forwards = new Forwards({
    ...{ ...ground, host, tunnels },
    openerFor: (server, fixed) => openerFor(fixed, server, companyOf(server), openers),
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
  const portMapping = new NatPmpServer({ ...{ ...ground, host, network }, ports: forwards });
  const onShrunk = (message: string) => events.alarm("list_shrunk", message);
  const updates = new Updates({ host, store, catalogue, log, onShrunk }, source);
  const schedules = new Schedules({
    ...ground,
    clock: host,
    zone: timeZone,
    assertPossible: (schedule) =>
      schedule.do === "move"
        ? void tunnels.named(schedule.tunnel, "tunnel")
        : ground.devices.assertExit(schedule.exit),
    move: async (tunnel) => moveElsewhere(tunnels.named(tunnel).controller, catalogue),
    alarm: (code, message) => events.alarm(code, message),
    onChange: (count) => events.publish({ type: "schedules_update", payload: { count } }),
  });
  const takeUp = () => takeUpAccount({ settings, host, registrations, catalogue, updates });
  const inUse = () => isManagedInUse(tunnels.all(), savedState);
  const accountsBy = (send: Send) =>
    new Accounts({ settings, store, registrations, send, clock: host, inUse, takeUp });
  const accounts = accountsBy(tunnels.httpsClient.send);
  const tokens = new Tokens(store, host);
  const damages: [AlertCode, string][] = [];
  if (tokens.alert !== null) damages.push(["state_damaged", tokens.alert]);
  if (store.alert !== null) damages.push(["state_damaged", store.alert]);
  if (registrations.shown()?.registration === "damaged") damages.push(["state_damaged", ACCOUNT_LOST]);
  return {
    ...ground,
    tunnels,
    controller: tunnels.main.controller,
    httpsClient: tunnels.httpsClient,
    settings,
    catalogue,
    favourites,
    forwards,
    portMapping,
    updates,
    schedules,
    host,
    accounts,
    accountsBy,
    takeUpAccount: takeUp,
    checkup: new Checkup({ ...ground, host, settings, tunnels, tokens, forwards }),
    notifications: new Notifications({
      ...{ host, store, log, hostname: hostname(), addresses: settings.notify },
      send: tunnels.httpsClient.sendWithin,
      isOpenTo: (target) => tunnels.httpsClient.isOpenTo(target),
    }),
    tokens,
    damages,
  };
}

const ACCOUNT_LOST = "The stored VPN account could not be read and is not used.";
