import type { Log } from "../base/log.ts";
import type { Devices } from "../devices/devices.ts";
import type { GatewayEvent, Stale } from "../http/event.ts";
import type { EventBus } from "../http/event-bus.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Overview } from "../tunnel/overview.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";

interface Deps {
  tunnels: Tunnels;
  overview: Overview;
  devices: Pick<Devices, "counts" | "onChange">;
  catalogue: Pick<Catalogue, "current" | "onChange" | "onUse">;
  events: EventBus;
  log: Pick<Log, "warn">;
}

/** Publishes every change of the tunnels and of the lists of servers. */
export function publishChanges({ tunnels, overview, devices, catalogue, events, log }: Deps): void {
  const { controller } = tunnels.main;
  // Every state is published, in order, although reading the rest of a status may take longer than the state lasts.
  let publishing: Promise<unknown> = Promise.resolve();
  const publish = (read: () => Promise<GatewayEvent>) => {
    // Reading a status after a change starts programs.
    if (!events.hasListeners) return;
    publishing = publishing
      .then(async () => events.publish(await read()))
      .catch((error: unknown) => log.warn(`a change of state could not be published: ${String(error)}`));
  };
  const publishStatus = (state?: typeof controller.state, stale: Stale = []) =>
    publish(async () => ({ type: "status_change", payload: await overview.statusIn(state), stale }));
  controller.onChange((state) => publishStatus(state));
  controller.onKillSwitch(() => publishStatus());
  tunnels.main.quality.quality.onChange(() => publishStatus());
  tunnels.uplink.quality.onChange(() => publishStatus());
  let used = catalogue.current();
  catalogue.onUse(() => {
    const stale: Stale = used === catalogue.current() ? [] : ["/api/servers", "/api/providers"];
    used = catalogue.current();
    publishStatus(undefined, stale);
  });
  tunnels.onTunnel((tunnel) => {
    // Its first change tells that there is another exit.
    tunnel.quality.quality.onChange(() =>
      publish(async () => ({ type: "tunnel_update", payload: await overview.rowOf(tunnel) })),
    );
    let next: Stale = tunnel === tunnels.main ? [] : ["/api/devices"];
    tunnel.controller.onChange((state) => {
      const stale = next;
      next = [];
      publish(async () => ({ type: "tunnel_update", payload: await overview.rowOf(tunnel, state), stale }));
    });
  });
  tunnels.onRemoved((name) => publish(async () => ({ type: "tunnel_removed", payload: { name } })));
  let counted = devices.counts();
  devices.onChange(() => {
    const before = counted;
    counted = devices.counts();
    for (const tunnel of tunnels.all())
      if (counted[tunnel.name] !== before[tunnel.name])
        publish(async () => ({ type: "tunnel_update", payload: await overview.rowOf(tunnel) }));
  });
  catalogue.onChange((provider, count) =>
    events.publish({ type: "server_update", payload: { provider, count } }),
  );
}
