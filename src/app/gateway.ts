import { GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import type { Checkup } from "../checks/checkup.ts";
import type { Devices } from "../devices/devices.ts";
import type { Forwards } from "../forwards/forwards.ts";
import type { History } from "../history/history.ts";
import { pageOf } from "../history/page.ts";
import type { GatewayEvent } from "../http/event.ts";
import type { EventBus } from "../http/event-bus.ts";
import type { Choice, Figures, Gateway } from "../http/gateway.ts";
import type { KillSwitchLayers } from "../http/schema.ts";
import { reportTraffic } from "../http/traffic.ts";
import type { Journal } from "../journal/journal.ts";
import type { Bounds } from "../network/bounds.ts";
import { type OtherRouters, sentenceOf } from "../network/other-routers.ts";
import { ownNetworkIn } from "../network/own.ts";
import type { Accounts } from "../providers/accounts.ts";
import type { Schedules } from "../schedules/schedules.ts";
import type { Catalogue, IsMeasured } from "../servers/catalogue.ts";
import type { Favourites } from "../servers/favourites.ts";
import { type CustomServer, type ImportedConfig, PROVIDERS, type Provider } from "../servers/schema.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Host } from "../system/host.ts";
import { CONNECT_BOUNDS_SECONDS, histogramOf, observed } from "../tunnel/histogram.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import { clashOf } from "../tunnel/session.ts";
import { carriedBy } from "../tunnel/state.ts";
import type { Target } from "../tunnel/target.ts";
import type { Tunnel } from "../tunnel/tunnel.ts";
import type { Tunnels } from "../tunnels/tunnels.ts";
import { generateKeyPair } from "../wireguard/key.ts";
import type { Config } from "../wireguard/schema.ts";

interface Deps {
  tunnels: Tunnels;
  catalogue: Catalogue;
  favourites: Favourites;
  devices: Devices;
  forwards: Forwards;
  schedules: Pick<Schedules, "list" | "put" | "remove">;
  accounts: Pick<Accounts, "managed" | "choose">;
  savedState: SavedState;
  clock: Pick<Host, "now" | "monotonic" | "sleep">;
  events: EventBus;
  journal: Journal;
  history: History;
  checkup: Pick<Checkup, "results">;
  otherRouters: Pick<OtherRouters, "current">;
  bounds: Pick<Bounds, "places">;
  settings: Pick<Settings, "dhcp">;
  /** The machine's name. */
  hostname: string;
  log: Pick<Log, "warn">;
}

/** The gateway of the HTTP interface, on top of the catalogue and the tunnel. */
export function gatewayOf(deps: Deps): Gateway {
  const {
    catalogue,
    favourites,
    hostname,
    tunnels,
    devices,
    forwards,
    schedules,
    accounts,
    savedState,
    clock,
    events,
    journal,
    history,
    checkup,
    otherRouters,
    bounds,
    settings,
    log,
  } = deps;
  const { controller } = tunnels.main;
  const { roundTrips } = tunnels;
  let connects = histogramOf(CONNECT_BOUNDS_SECONDS);
  const status = async (state = controller.state): Promise<Status> => {
    const read = await controller.status(catalogue.current(), state);
    const error = read.error ?? savedState.trouble ?? devices.exitsLost ?? events.damage;
    const ports = forwards.portsOf(tunnels.main.name);
    return {
      ...read,
      error,
      direct_devices: devices.direct.devices.length,
      ...(ports.length > 0 && { forwarded_ports: ports }),
    };
  };
  const rowOf = async (tunnel: Tunnel, state = tunnel.controller.state): Promise<TunnelRow> => ({
    ...(await tunnel.controller.row(state)),
    devices: devices.counts()[tunnel.name] ?? 0,
  });
  const targetOf = ({ server, via, provider }: Choice): Target => {
    const isMeasured: IsMeasured = (...which) => roundTrips.has(...which);
    return via === undefined
      ? catalogue.find(server, isMeasured, provider)
      : catalogue.findVia(server, via, isMeasured, provider);
  };
  const reach = async (tunnel: Tunnel, wanted: Target) => {
    const start = clock.monotonic();
    await tunnel.controller.connect(wanted);
    connects = observed(connects, (clock.monotonic() - start) / 1000);
  };
  // Every state is published, in order, although reading the rest of a status may take longer than the state lasts.
  let publishing: Promise<unknown> = Promise.resolve();
  const publish = (read: () => Promise<GatewayEvent>) => {
    // Reading a status after a change starts programs.
    if (!events.hasListeners) return;
    publishing = publishing
      .then(async () => events.publish(await read()))
      .catch((error: unknown) => log.warn(`a change of state could not be published: ${String(error)}`));
  };
  controller.onChange((state) =>
    publish(async () => ({ type: "status_change", payload: await status(state) })),
  );
  controller.onKillSwitch(() => publish(async () => ({ type: "status_change", payload: await status() })));
  tunnels.onTunnel((tunnel) =>
    tunnel.controller.onChange((state) =>
      publish(async () => ({ type: "tunnel_update", payload: await rowOf(tunnel, state) })),
    ),
  );
  tunnels.onRemoved((name) => publish(async () => ({ type: "tunnel_removed", payload: { name } })));
  let counted = devices.counts();
  devices.onChange(() => {
    const before = counted;
    counted = devices.counts();
    for (const tunnel of tunnels.all())
      if (counted[tunnel.name] !== before[tunnel.name])
        publish(async () => ({ type: "tunnel_update", payload: await rowOf(tunnel) }));
  });
  catalogue.onChange((provider, count) =>
    events.publish({ type: "server_update", payload: { provider, count } }),
  );
  const refuseClash = (config: Config) => {
    const clash = clashOf(controller.network, config);
    if (clash !== null) throw new GatewayError("bad_request", `address: ${clash}`);
  };
  return {
    status: () => status(),
    providers: () => ({ providers: [...PROVIDERS], current: catalogue.current() }),
    serverCounts: () => ({ current: catalogue.current(), usable: catalogue.usable() }),
    use: (provider: Provider) => {
      catalogue.use(provider);
      publish(async () => ({ type: "status_change", payload: await status() }));
    },
    managed: () => accounts.managed(),
    chooseManaged: (name) => accounts.choose(name),
    servers: () => catalogue.tree(),
    connect: async (choice) => reach(tunnels.main, targetOf(choice)),
    disconnect: async () => {
      await controller.disconnect();
      return { killSwitch: savedState.killSwitchWanted() };
    },
    addCustom: (body: CustomServer) => catalogue.addCustom(body, refuseClash),
    remove: (provider, name) => {
      const user = tunnels.using(provider, name);
      if (user !== null) {
        throw new GatewayError(
          "bad_request",
          `name: the ${tunnelTitle(user.name)} uses this server; disconnect first`,
        );
      }
      catalogue.remove(provider, name);
    },
    importConfig: (body: ImportedConfig) => catalogue.importConfig(body, refuseClash),
    favourites: () => ({
      favourites: favourites.list(),
      recent: savedState
        .recent()
        .filter(({ provider, name, via = name }) =>
          [name, via].every((each) => catalogue.has(provider, each)),
        )
        .map(({ provider, name, via, since }) => ({
          provider,
          server: name,
          ...(via !== undefined && { via }),
          at: new Date(since).toISOString(),
        })),
    }),
    addFavourite: (provider, server) => favourites.add(provider, server),
    removeFavourite: (provider, server) => favourites.remove(provider, server),
    roundTrips: () => ({
      round_trips: roundTrips
        .all((...which) => catalogue.server(...which))
        .map(({ server: { provider, name, via }, ms, ageMs }) => ({
          provider,
          server: name,
          ...(via !== undefined && { via: via.name }),
          ms: Math.round(ms * 10) / 10,
          measured_at: new Date(clock.now() - ageMs).toISOString(),
        })),
    }),
    network: () => ({
      hostname,
      ...ownNetworkIn(controller.network),
      dhcp: settings.dhcp !== null,
      other_routers: otherRouters.current.map((each) => {
        const { interface: link, address, mac } = each;
        return { interface: link, address, mac, found: sentenceOf(each) };
      }),
    }),
    killSwitch: async () => {
      const { firewall, routing, direct, trouble } = await controller.layers();
      const layers = [layerOf("firewall", firewall), layerOf("routing", routing)];
      return {
        active: firewall.every(({ holds }) => holds),
        wanted: savedState.killSwitchWanted(),
        layers,
        direct_devices: direct,
        error: trouble,
      };
    },
    devices: () => devices.list(),
    assignDevice: (id, change) => devices.assign(id, change),
    forgetDevice: (id) => devices.forget(id),
    setDefaultExit: (exit) => devices.setDefaultExit(exit),
    deviceAt: (address) => devices.at(address),
    forwards: () => forwards.list(),
    forward: (id, change) => forwards.put(id, change),
    removeForward: (id) => forwards.remove(id),
    schedules: () => schedules.list(),
    putSchedule: (name, body) => schedules.put(name, body),
    removeSchedule: (name) => schedules.remove(name),
    journal: (range) => journal.page(range),
    forwardedPorts: () => forwards.portsOf(tunnels.main.name),
    history: (query) =>
      pageOf(query, { history, journal, tunnels: tunnels.all().map(({ name }) => name), now: clock.now() }),
    keyPair: () => {
      const { privateKey, publicKey } = generateKeyPair();
      return { private_key: privateKey, public_key: publicKey };
    },
    tunnels: () => Promise.all(tunnels.all().map((tunnel) => rowOf(tunnel))),
    leadTunnel: async (name, choice) => {
      // A name that is not a server's must not leave a new tunnel behind.
      targetOf(choice);
      const tunnel = await tunnels.opened(name);
      await reach(tunnel, targetOf(choice)).catch(async (error: unknown) => {
        await tunnels.dropUnused(tunnel).catch((why: unknown) => log.warn(`${name}: ${messageOf(why)}`));
        throw error;
      });
    },
    disconnectTunnel: (name) => tunnels.named(name).controller.disconnect(),
    removeTunnel: (name) => tunnels.remove(name),
    health: async () => (await controller.fault()) ?? tunnels.fault,
    checks: () => checkup.results(),
    subscribe: (listener) => events.subscribe(listener),
    followTraffic: (listener) => {
      const ending = new AbortController();
      const read = async () => {
        // One whose figures cannot be read is left out.
        const all = tunnels.all().map(async ({ name, controller }) => {
          const carried = await controller.carried().catch(() => null);
          return carried === null ? [] : [{ name, ...carried }];
        });
        return (await Promise.all(all)).flat();
      };
      void reportTraffic({ tunnels: read, devices, clock }, listener, ending.signal);
      return () => ending.abort();
    },
    figures: async (): Promise<Figures> => {
      const figuresOf = async (tunnel: Tunnel) => {
        const session = carriedBy(tunnel.controller.state);
        const labels = session && {
          interface: session.link,
          publicKey: session.server.config.peer.publicKey,
          via: session.server.via?.name,
        };
        return { row: await rowOf(tunnel), labels };
      };
      return {
        status: await status(),
        tunnels: await Promise.all(tunnels.all().map(figuresOf)),
        alerts: events.alerts,
        connects,
        devices: devices.counts(),
        directAllowed: devices.direct.allowed,
        forwards: forwards.counts(),
        places: await bounds.places(),
      };
    },
  };
}

type Layer = KillSwitchLayers["layers"][number];

function layerOf(name: Layer["name"], parts: readonly Layer["parts"][number][]): Layer {
  return { name, holds: parts.every(({ holds }) => holds), parts: [...parts] };
}
