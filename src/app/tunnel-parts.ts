import { coalesced } from "../base/queue.ts";
import { UPLINK } from "../history/quality-ring.ts";
import { journalOf } from "../journal/tunnel-states.ts";
import { OperatorSwitch } from "../killswitch/operator-switch.ts";
import { alternativesTo } from "../servers/alternatives.ts";
import { keyedLike } from "../servers/quantum.ts";
import type { Server } from "../servers/schema.ts";
import { reachedLike } from "../servers/transport.ts";
import { ConnectRequests } from "../tunnel/connect-requests.ts";
import { PastConnections } from "../tunnel/past-connections.ts";
import { carriedBy } from "../tunnel/state.ts";
import { TargetFinder } from "../tunnel/target-finder.ts";
import { Tunnels } from "../tunnel/tunnels.ts";
import type { Base, ServerParts } from "./server-parts.ts";

type Needs = Base & ServerParts;
export type TunnelParts = ReturnType<typeof tunnelPartsOn>;

/** The tunnels, and what follows their states. */
export function tunnelPartsOn(needs: Needs) {
  const { host, settings, catalogue, switches, connections, devices, destinations, alerts } = needs;
  const targets = new TargetFinder(needs);
  const userspace = process.env.WG_QUICK_USERSPACE_IMPLEMENTATION ?? "wireguard-go";
  const tunnels = new Tunnels({
    ...needs,
    ...{ targets, userspace, base: settings.interface, autoconnect: switches.autoconnect },
    register: (server, send) => connections.register(server, send),
    latest: (server) => latestOf(server, needs),
    // The destinations' queue waits for the devices' after a restore: never the other way round.
    unlessUsed: (tunnel, remove) =>
      devices.unlessUsed(
        tunnel,
        () => {
          destinations.assertUnused(tunnel);
          return remove();
        },
        { around: (turn) => destinations.unchanged(turn), isRead: () => destinations.isRead },
      ),
    alternatives: (server) =>
      switches.failover
        ? alternativesTo(server, catalogue.all()).flatMap((each) => reachedLike(each, server) ?? [])
        : [],
    alarm: alerts.raise,
  });
  follow(tunnels, needs);
  return {
    tunnels,
    userspace,
    controller: tunnels.main.controller,
    httpsClient: tunnels.httpsClient,
    operatorSwitch: new OperatorSwitch({
      ...needs,
      settle: (decide) => tunnels.main.controller.settle(decide),
      alarm: alerts.raise,
    }),
    connects: new ConnectRequests({ ...needs, tunnels, targets, host }),
    past: new PastConnections({ ...needs, tunnels }),
  };
}

/** The server as it is in the catalogue now, reached in the same way. */
function latestOf(server: Server, { catalogue }: Needs): Server | null {
  const latest = catalogue.server(server.provider, server.name, server.via?.name);
  return latest && (reachedLike(latest, server) ?? keyedLike(latest, server));
}

function follow(tunnels: Tunnels, needs: Needs): void {
  const { events, journal, history, devices, fairQueues, bounds, savedState } = needs;
  const queueTunnels = () =>
    fairQueues.tunnelsAre(tunnels.all().flatMap(({ controller }) => carriedBy(controller.state)?.link ?? []));
  tunnels.onTunnel((tunnel) => {
    const { name, controller, quality } = tunnel;
    const exists = () => name === tunnels.main.name || savedState.tunnels().has(name);
    controller.onChange(journalOf(name, journal, exists));
    controller.onChange(() => {
      void history.read(tunnel);
      devices.inForce.tunnelIs(name, controller.carriesData);
      queueTunnels();
    });
    quality.quality.onAsked((ms) => history.noteAsked(name, ms));
  });
  tunnels.uplink.quality.onAsked((ms) => history.noteAsked(UPLINK, ms));
  tunnels.onRemoved((name) => devices.inForce.forget(name));
  events.subscribe("tunnels_adopted", ({ payload }) => {
    devices.inForce.tunnelsAre(
      payload.map(({ name, controller }) => [name, controller.carriesData] as const),
    );
    queueTunnels();
  });
  events.subscribe("neighbour_changed", ({ payload }) => devices.saw(payload));
  // With a thousand limits, a check may take longer than another program leaves between two changes.
  const check = coalesced(() => Promise.all([devices, bounds, fairQueues].map((own) => own.check())));
  events.subscribe("other_firewalls_changed", check);
}
