import { addressOf, type Prefix } from "../base/address.ts";
import type { Settings } from "../base/settings.ts";
import { ipv4In, type LanFacts } from "../dhcp/lans.ts";
import { type Reading, readNetwork } from "../network/host-network.ts";
import {
  freeNetworks,
  isOneCable,
  NOT_FLASHED,
  type PortRoles,
  portsIn,
  rolesFault,
  UPLINK_FILE,
} from "../network/ports.ts";
import type { Host } from "../system/host.ts";
import { refused } from "../system/refusals.ts";
import { arePortsChanging, SETUP_NOTES } from "../system/setup.ts";
import type { PortsChange, PortsRequest, ShownPorts, ShownRoles } from "./schema.ts";

interface Deps {
  host: Host;
  settings: Pick<Settings, "lan" | "uplink" | "dhcp" | "https">;
  /** Which `.local` follows. */
  hostname: string;
}

type Addresses = LanFacts["addresses"];

const HTTPS_PORT = 443;

/** The network ports of a flashed gateway, and what other roles of theirs would change. */
export class Ports {
  constructor(private readonly deps: Deps) {}

  async shown(): Promise<ShownPorts> {
    const { host } = this.deps;
    const reading = await readNetwork(host);
    const ports = (await this.isFlashed()) ? portsIn(reading) : [];
    return {
      ports: ports.map(({ name, hasCarrier }) => ({ name, plugged: hasCarrier })),
      ...this.present(reading),
      changing: await arePortsChanging(host),
      failed: (await host.read(SETUP_NOTES.portsFailed))?.trim() ?? null,
    };
  }

  /** What would change; throws if these roles cannot be. */
  async plan({ uplink, lan }: Pick<PortsRequest, "uplink" | "lan">): Promise<PortsChange> {
    if (!(await this.isFlashed())) throw refused("root_refused", { reason: NOT_FLASHED });
    const reading = await readNetwork(this.deps.host);
    const roles = { uplink, lans: lan };
    const names = portsIn(reading).map(({ name }) => name);
    const reason = rolesFault(roles, names);
    if (reason !== null) throw refused("root_refused", { reason });
    if (await arePortsChanging(this.deps.host)) throw refused("root_busy");
    const before = this.present(reading);
    const own = ownWith(roles, ipv4In(reading.addresses));
    const after = { uplink, lan: [...lan], dhcp: !isOneCable(roles), pages: this.pages(own) };
    // Ports of a LAN get their networks anew.
    return { before, after, cut: after.dhcp || !Bun.deepEquals(before, after) };
  }

  private async isFlashed(): Promise<boolean> {
    return (await this.deps.host.read(UPLINK_FILE)) !== null;
  }

  private present({ addresses }: Reading): ShownRoles {
    const { uplink, lan, dhcp } = this.deps.settings;
    const own = ipv4In(addresses).filter((each) => lan.includes(each.interface));
    return { uplink, lan, dhcp: dhcp !== null, pages: this.pages(own.map(({ prefix }) => prefix)) };
  }

  private pages(own: readonly Prefix[]): string[] {
    const { settings, hostname } = this.deps;
    // Owners come in over HTTPS only.
    const port = settings.https === HTTPS_PORT ? "" : `:${settings.https}`;
    return [`${hostname}.local`, ...own.map(addressOf)].map((name) => `https://${name}${port}/`);
  }
}

/**
 * The gateway's own addresses on the LAN. With one cable they come from the router, so that at another port they are not
 * known before.
 */
function ownWith(roles: PortRoles, addresses: Addresses): Prefix[] {
  const isOne = isOneCable(roles);
  const found = addresses.filter((each) =>
    isOne ? each.interface === roles.uplink && each.isLeased : !roles.lans.includes(each.interface),
  );
  const prefixes = found.map(({ prefix }) => prefix);
  return isOne ? prefixes : freeNetworks(roles.lans.length, prefixes);
}
