import { hostname } from "node:os";
import { Forwards } from "../forwards/forwards.ts";
import { type Openers, openerFor } from "../forwards/opener-for.ts";
import { ReservedPort } from "../forwards/reserved-port.ts";
import { NatPmpOpener } from "../port-mapping/opener.ts";
import { NatPmpServer } from "../port-mapping/server.ts";
import { VPN_PROVIDERS } from "../providers/list.ts";
import { AccountOpener } from "../providers/ports.ts";
import type { VpnProvider } from "../providers/provider.ts";
import { RemoteAccess } from "../remote/access.ts";
import { moveElsewhere } from "../schedules/move.ts";
import { Schedules } from "../schedules/schedules.ts";
import type { Server } from "../servers/schema.ts";
import { timeZone } from "../system/time-zone.ts";
import type { NameParts } from "./name-parts.ts";
import type { Base, ServerParts } from "./server-parts.ts";
import type { TunnelParts } from "./tunnel-parts.ts";

type Needs = Base & ServerParts & TunnelParts & NameParts;
export type PortParts = ReturnType<typeof portPartsOn>;

/** Forwarded ports, remote access and schedules. */
export function portPartsOn(needs: Needs) {
  const { events, settings, alerts } = needs;
  const openers = openersOn(needs);
  const reserved = new ReservedPort();
  const forwards = new Forwards({
    ...{ ...needs, reserved },
    openerFor: (server, fixed) => openerFor(fixed, server, companyOf(server, needs), openers),
  });
  const portMapping = new NatPmpServer({
    ...needs,
    network: () => needs.controller.network,
    ports: forwards,
  });
  const schedules = schedulesOn(needs);
  const remoteAccess = new RemoteAccess({
    ...{ ...needs, reserved, ula: settings.ula, alarm: alerts.raise, hostname: hostname() },
    openerFor: (server) => openerFor(null, server, companyOf(server, needs), openers),
    isForwarded: (tunnel, inside) => forwards.isForwarded(tunnel, inside),
    decided: () => decidedIn(needs, schedules),
  });
  events.subscribe("forward_update", ({ payload }) => portMapping.changed(payload));
  events.subscribe("forward_removed", ({ payload }) => portMapping.removed(payload));
  events.subscribe("link_lost", ({ payload }) => remoteAccess.lost(payload));
  events.subscribe("ports_lost", ({ payload }) => {
    void forwards.renewAll(payload);
    remoteAccess.portsLost(payload);
  });
  return { forwards, portMapping, schedules, remoteAccess };
}

function openersOn({ host, events, connections, tunnels }: Needs): Openers {
  return {
    "nat-pmp": new NatPmpOpener({ host, events }),
    pia: new AccountOpener({
      connections,
      send: (signal) => tunnels.httpsClient.sendOn({ inside: true }, signal),
      now: () => host.now(),
    }),
  };
}

/** The one that registers the gateway, or the one in the record. */
function companyOf({ provider, label, registers }: Server, { registrations }: Needs): VpnProvider | null {
  return (
    (registers && registrations.current().provider) ||
    (VPN_PROVIDERS.find((each) => provider === "managed" && each.label === label) ?? null)
  );
}

function schedulesOn(needs: Needs): Schedules {
  const { host, devices, tunnels, catalogue, alerts } = needs;
  return new Schedules({
    ...{ ...needs, clock: host, byTime: devices.byTime, machineZone: timeZone, alarm: alerts.raise },
    assertPossible: (schedule) => {
      if (schedule.do === "move") return void tunnels.named(schedule.tunnel, "tunnel");
      devices.networks.assertKnown(schedule.who);
      if (schedule.do === "exit") devices.choices.assertExit(schedule.value);
      else devices.choices.assertLimit(schedule.who, schedule.do);
    },
    move: async (tunnel) => moveElsewhere(tunnels.named(tunnel).controller, catalogue),
  });
}

/** The devices for which there are schedules, rules or lists. */
function decidedIn({ destinations, blockLists }: Needs, schedules: Schedules): Set<string> {
  return new Set([
    ...schedules.list().schedules.flatMap(({ device }) => device ?? []),
    ...destinations.list().destinations.flatMap((rule) => rule.devices),
    ...blockLists.list().lists.flatMap((list) => list.devices),
  ]);
}
