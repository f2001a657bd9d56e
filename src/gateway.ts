import type { Devices } from "./devices/devices.ts";
import { GatewayError } from "./errors.ts";
import type { EventBus } from "./http/event-bus.ts";
import type { Figures, Gateway } from "./http/gateway.ts";
import type { Log } from "./log.ts";
import type { Catalogue } from "./servers/catalogue.ts";
import { type CustomServer, type ImportedConfig, PROVIDERS, type Provider } from "./servers/schema.ts";
import type { Host } from "./system/host.ts";
import { CONNECT_BOUNDS_SECONDS, histogramOf, observed } from "./tunnel/histogram.ts";
import type { SavedState } from "./tunnel/saved-state.ts";
import type { Status } from "./tunnel/schema.ts";
import { clashOf } from "./tunnel/session.ts";
import { carriedBy } from "./tunnel/state.ts";
import type { Tunnel } from "./tunnel/tunnel.ts";
import { generateKeyPair } from "./wireguard/key.ts";
import type { Config } from "./wireguard/schema.ts";

interface Deps extends Pick<Tunnel, "controller" | "roundTrips"> {
  catalogue: Catalogue;
  devices: Devices;
  savedState: SavedState;
  clock: Pick<Host, "now" | "monotonic">;
  events: EventBus;
  log: Pick<Log, "warn">;
}

/** The gateway of the HTTP interface, on top of the catalogue and the tunnel. */
export function gatewayOf({
  catalogue,
  devices,
  controller,
  roundTrips,
  savedState,
  clock,
  events,
  log,
}: Deps): Gateway {
  let connects = histogramOf(CONNECT_BOUNDS_SECONDS);
  const status = async (state = controller.state): Promise<Status> => {
    const read = await controller.status(catalogue.current(), state);
    const error = read.error ?? savedState.trouble ?? events.damage;
    return { ...read, error, direct_devices: devices.direct.length };
  };
  // Every state is published, in order, although reading the rest of a status may take longer than the state lasts.
  let publishing: Promise<unknown> = Promise.resolve();
  controller.onChange((state) => {
    // Reading a status after a change starts programs.
    if (!events.hasListeners) return;
    publishing = publishing
      .then(async () => events.publish({ type: "status_change", payload: await status(state) }))
      .catch((error: unknown) => log.warn(`a change of state could not be published: ${String(error)}`));
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
    use: (provider: Provider) => catalogue.use(provider),
    servers: () => catalogue.tree(),
    connect: async (name) => {
      const wanted = catalogue.find(name, (provider, server) => roundTrips.has(provider, server));
      const start = clock.monotonic();
      await controller.connect(wanted);
      connects = observed(connects, (clock.monotonic() - start) / 1000);
    },
    disconnect: async () => {
      await controller.disconnect();
      return { killSwitch: savedState.killSwitchWanted() };
    },
    addCustom: (body: CustomServer) => catalogue.addCustom(body, refuseClash),
    remove: (provider, name) => {
      if (controller.uses(provider, name)) {
        throw new GatewayError("bad_request", "name: the tunnel uses this server; disconnect first");
      }
      catalogue.remove(provider, name);
    },
    importConfig: (body: ImportedConfig) => catalogue.importConfig(body, refuseClash),
    devices: () => devices.list(),
    assignDevice: (id, change) => devices.assign(id, change),
    forgetDevice: (id) => devices.forget(id),
    setDefaultExit: (exit) => devices.setDefaultExit(exit),
    keyPair: () => {
      const { privateKey, publicKey } = generateKeyPair();
      return { private_key: privateKey, public_key: publicKey };
    },
    health: () => controller.fault(),
    subscribe: (listener) => events.subscribe(listener),
    figures: async (): Promise<Figures> => {
      const session = carriedBy(controller.state);
      return {
        status: await status(),
        tunnel: session && { interface: session.link, publicKey: session.server.config.peer.publicKey },
        alerts: events.alerts,
        connects,
        devices: devices.counts(),
      };
    },
  };
}
