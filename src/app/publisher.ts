import type { Bus, EventOf } from "../base/bus.ts";
import type { Log } from "../base/log.ts";
import type { Devices } from "../devices/devices.ts";
import type { OperatorSwitch } from "../killswitch/operator-switch.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Overview } from "../tunnel/overview.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import type { GatewayEvents } from "./events.ts";

interface Deps {
  tunnels: Tunnels;
  operatorSwitch: Pick<OperatorSwitch, "onTurned">;
  overview: Overview;
  devices: Pick<Devices, "counts" | "onChange">;
  catalogue: Pick<Catalogue, "onChange" | "onUse">;
  events: Bus<GatewayEvents>;
  log: Pick<Log, "warn">;
}

/** Publishes every change of the tunnels and of the lists of servers. */
export function publishChanges({
  tunnels,
  operatorSwitch,
  overview,
  devices,
  catalogue,
  events,
  log,
}: Deps): void {
  const { controller } = tunnels.main;
  // Every state is published, in order, although reading the rest of a status may take longer than the state lasts.
  let publishing: Promise<unknown> = Promise.resolve();
  const publish = <Type extends keyof GatewayEvents>(
    type: Type,
    read: () => Promise<GatewayEvents[Type]> | GatewayEvents[Type],
  ) => {
    // Reading a status after a change starts programs.
    if (!events.hasListeners(type)) return;
    publishing = publishing
      .then(async () => events.publish({ type, payload: await read() } as EventOf<GatewayEvents>))
      .catch((error: unknown) => log.warn(`a change of state could not be published: ${String(error)}`));
  };
  const publishStatus = (state?: typeof controller.state) =>
    publish("status_change", () => overview.statusIn(state));
  controller.onChange((state) => publishStatus(state));
  operatorSwitch.onTurned(() => publishStatus());
  tunnels.main.quality.quality.onChange(() => publishStatus());
  tunnels.uplink.quality.onChange(() => publishStatus());
  catalogue.onUse(() => publishStatus());
  tunnels.onTunnel((tunnel) => {
    if (tunnel !== tunnels.main) events.publish({ type: "tunnel_added", payload: { name: tunnel.name } });
    tunnel.quality.quality.onChange(() => publish("tunnel_update", () => overview.rowOf(tunnel)));
    tunnel.controller.onChange((state) => publish("tunnel_update", () => overview.rowOf(tunnel, state)));
  });
  tunnels.onRemoved((name) => publish("tunnel_removed", () => ({ name })));
  let counted = devices.counts();
  devices.onChange(() => {
    const before = counted;
    counted = devices.counts();
    for (const tunnel of tunnels.all())
      if (counted[tunnel.name] !== before[tunnel.name])
        publish("tunnel_update", () => overview.rowOf(tunnel));
  });
  catalogue.onChange((provider, count) =>
    events.publish({ type: "server_update", payload: { provider, count } }),
  );
}
