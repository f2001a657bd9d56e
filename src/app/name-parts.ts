import { type Prefix, prefixOf } from "../base/address.ts";
import { parseMac } from "../base/mac.ts";
import type { Askers } from "../dns/asker-ports.ts";
import { BlockLists } from "../dns/block-lists.ts";
import { Dns } from "../dns/dns.ts";
import { exitResolvers } from "../dns/exit-resolvers.ts";
import { HomeZone } from "../dns/home-zone.ts";
import { publicHomeOf } from "../dns/public-home.ts";
import { QueryLog } from "../dns/query-log.ts";
import { Resolver } from "../dns/resolver.ts";
import { Upstream } from "../dns/upstream.ts";
import { listeningOn } from "../killswitch/own-resolver.ts";
import { withMeshes } from "../network/entrances.ts";
import type { KillSwitchParts } from "./kill-switch-parts.ts";
import type { Base } from "./server-parts.ts";
import type { TunnelParts } from "./tunnel-parts.ts";

type Needs = Base & TunnelParts;
export type NameParts = ReturnType<typeof namePartsOn>;

/** Answers the LAN's DNS queries while anything needs it. */
export function namePartsOn(needs: Needs) {
  const { host, settings, events, killSwitch, devices, destinations, tunnels, alerts, log } = needs;
  const blockLists = new BlockLists({
    ...needs,
    ...{ stateDir: settings.stateDir, send: tunnels.httpsClient.sendInside },
    isConnected: () => tunnels.main.controller.state.name === "connected",
    onShrunk: (lists) => alerts.raise("list_shrunk", lists),
  });
  const queryLog = new QueryLog({ clock: host, events, log, nameOf: (id) => devices.nameOf(id) ?? "" });
  const upstream = Upstream.on(host);
  const dns = new Dns({
    ...{ host, killSwitch, events, log },
    network: () => withMeshes(killSwitch.network),
    isWanted: () => blockLists.isUsed || destinations.matching.hasNames,
    askers: () => askersIn(needs, blockLists),
    routersTo: (network) => killSwitch.routersTo(network),
    resolver: resolverOf({ ...needs, blockLists, queryLog, upstream }),
  });
  devices.onChange(() => dns.follow());
  events.subscribe("lookups_changed", () => dns.update());
  events.subscribe("dns_changed", () => {
    const payload = { state: dns.state, paused_until: blockLists.pausedUntilText };
    events.publish({ type: "dns_update", payload });
  });
  return { blockLists, queryLog, upstream, dns };
}

interface ResolverNeeds extends Needs {
  blockLists: BlockLists;
  queryLog: QueryLog;
  upstream: Upstream;
}

function resolverOf(needs: ResolverNeeds): Resolver {
  const { host, killSwitch, devices, destinations, remote, tunnels, log } = needs;
  const { blockLists, queryLog, upstream } = needs;
  const homeZone = new HomeZone({
    clock: host,
    devices: () => devices.named(),
    own: () => killSwitch.lans.flatMap((lan) => listeningOn(lan, killSwitch.network.addresses)),
    home: () => homeOf(killSwitch),
  });
  return new Resolver({
    ...{ clock: host, log, upstream },
    exitOf: (id) => devices.exitInForceOf(id),
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
  });
}

/** Those who may ask the gateway's own resolver. Rules and lists for a device decide about it, too. */
function askersIn({ devices, destinations }: Needs, blockLists: BlockLists): Askers {
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
