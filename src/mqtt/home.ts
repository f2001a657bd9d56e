import type { SecurityAlert } from "../base/alert.ts";
import type { Devices } from "../devices/devices.ts";
import { EVERYBODY_ELSE } from "../devices/id.ts";
import type { LanNetwork } from "../devices/network-schema.ts";
import type { Device, DeviceList } from "../devices/schema.ts";
import type { UsedQuota } from "../devices/values.ts";
import type { BlockLists } from "../dns/block-lists.ts";
import type { DeviceCount } from "../dns/device-counts.ts";
import type { Dns } from "../dns/dns.ts";
import type { DnsLists } from "../dns/schema.ts";
import type { Journal } from "../journal/journal.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { RemoteAccess } from "../remote/access.ts";
import type { HomeLink } from "../remote/schema.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Favourites } from "../servers/favourites.ts";
import { networkIdOf } from "../shared/network-id.ts";
import type { Voice } from "../shared/saying.ts";
import type { Overview } from "../tunnel/overview.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { destinationsOf } from "./destinations.ts";
import { deviceThing, knownDevices } from "./device-entities.ts";
import type { HaDevice } from "./discovery.ts";
import { type GatewayState, gatewayThing } from "./gateway-entities.ts";
import { linkThing } from "./link-entities.ts";
import { listThing } from "./list-entities.ts";
import { knownNetworks, networkThing } from "./network-entities.ts";
import type { DnsFigures, Rates } from "./rates.ts";
import { tunnelThing } from "./tunnel-entities.ts";

/** What is read of the gateway. */
export interface Read {
  overview: Overview;
  devices: Pick<Devices, "list" | "networks">;
  catalogue: Pick<Catalogue, "tree">;
  favourites: Pick<Favourites, "list">;
  journal: Pick<Journal, "page">;
  blockLists: GatewayState["blockLists"] & Pick<BlockLists, "list">;
  dns: Pick<Dns, "state" | "counts" | "byDevice">;
  remoteAccess: Pick<RemoteAccess, "links">;
}

interface Home extends GatewayState {
  tunnels: readonly TunnelRow[];
  known: readonly Device[];
  networks: readonly LanNetwork[];
  lists: DnsLists["lists"];
  links: readonly HomeLink[];
  /** What was asked, by device and in all; null while the gateway answers no queries. */
  dns: DnsFigures | null;
  quotas: ReadonlyMap<string, UsedQuota>;
}

export async function readHome(
  { overview, devices, blockLists, dns, remoteAccess }: Read,
  alert: SecurityAlert | null,
  voice: Voice,
): Promise<Home> {
  const [{ status, tunnels, verdictIn }, problem, listed, { links }] = await Promise.all([
    overview.whole(),
    overview.health(),
    devices.list(),
    remoteAccess.links(),
  ]);
  const networks = knownNetworks(devices.networks.list().networks);
  return {
    status: { ...status, verdict: verdictIn(voice) },
    problem,
    alert,
    tunnels: tunnels.map(({ row }) => row),
    devices: listed,
    known: knownDevices(listed.devices),
    networks,
    blockLists,
    lists: blockLists.list().lists,
    links,
    dns: dns.state === "on" ? figuresOf(dns) : null,
    quotas: quotasIn(listed, networks),
  };
}

/** Everything that Home Assistant shows. */
export function thingsOf(home: Home, gateway: Read, rates: Rates, commands: boolean): HaDevice[] {
  const { tunnels, devices, known, networks, lists, links } = home;
  const { dns, quotas } = rates;
  const destinations = (row: TunnelRow) => (commands ? destinationsFor(row, gateway) : null);
  return [
    gatewayThing(home, quotas.get(EVERYBODY_ELSE), dns?.all ?? null, commands),
    ...tunnels.map((row) =>
      row.name === MAIN
        ? tunnelThing(row, rates.of(row.name), destinations(row))
        : tunnelThing(row, rates.of(row.name)),
    ),
    ...known.map((device) =>
      deviceThing(
        device,
        quotas.get(device.id),
        dns && (dns.devices.get(device.id) ?? NOTHING_ASKED),
        commands ? devices.exits : null,
      ),
    ),
    ...networks.map((network) =>
      networkThing(network, quotas.get(networkIdOf(network.interface)), commands ? devices.exits : null),
    ),
    ...lists.map((list) => listThing(list, commands)),
    ...links.map(linkThing),
  ];
}

const NOTHING_ASKED: DeviceCount = { asked: 0, blocked: 0 };

function quotasIn(
  { devices, shared_quota }: DeviceList,
  networks: readonly LanNetwork[],
): ReadonlyMap<string, UsedQuota> {
  const shared = shared_quota && ([EVERYBODY_ELSE, shared_quota] as const);
  const own = devices.flatMap(({ id, quota }) => (quota === undefined ? [] : [[id, quota] as const]));
  const ofNetworks = networks.flatMap((each) =>
    each.quota === undefined ? [] : [[networkIdOf(each.interface), each.quota] as const],
  );
  return new Map<string, UsedQuota>([...(shared === undefined ? [] : [shared]), ...own, ...ofNetworks]);
}

function figuresOf({ counts: { asked, blocked }, byDevice }: Read["dns"]): DnsFigures {
  const devices = byDevice.all().map(({ id, ...count }) => [id, count] as const);
  return { all: { asked, blocked }, devices: new Map(devices) };
}

function destinationsFor({ provider, wanted }: TunnelRow, { catalogue, favourites }: Read): string[] {
  const current = catalogue.tree();
  return destinationsOf({
    ...current,
    favourites: favourites.list(),
    wanted: provider === current.provider ? wanted : null,
  });
}

/** Enough to find an alert, if there was one lately. */
const MAX_EVENTS = 1_000;

/** The latest alert before this start. */
export function lastAlert({ journal }: Read): SecurityAlert | null {
  const { events } = journal.page({ after: 0, before: Number.MAX_SAFE_INTEGER, most: MAX_EVENTS });
  const found = events.findLast((event) => event.type === "security_alert");
  if (found === undefined) return null;
  const { code, args, message, at } = found;
  return { code, ...(args !== undefined && { args }), message, at };
}
