import { addressOf, type Prefix } from "../base/address.ts";
import type { Settings } from "../base/settings.ts";
import { ipv4In, type LanFacts } from "../dhcp/lans.ts";
import { type Reading, readNetwork } from "../network/host-network.ts";
import {
  freeNetworks,
  givenIn,
  isOneCable,
  NOT_FLASHED,
  type PortRoles,
  portsIn,
  prefixesBeside,
  rolesFault,
  UPLINK_FILE,
} from "../network/ports.ts";
import type { Host } from "../system/host.ts";
import { refused } from "../system/refusals.ts";
import { arePortsChanging, SETUP_NOTES } from "../system/setup.ts";
import type { PortsChange, PortsRequest, ShownPorts, ShownRoles } from "./schema.ts";

interface Deps {
  host: Host;
  /** Whether devices of this network may use the page, as far as that was decided. */
  hasPage: (link: string) => boolean;
  settings: Pick<Settings, "lan" | "uplink" | "dhcp" | "https">;
  /** Which `.local` follows. */
  hostname: string;
}

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
    const reason = rolesFault(roles, names) ?? this.pageFault(lan);
    if (reason !== null) throw refused("root_refused", { reason }, { code: "bad_request" });
    if (await arePortsChanging(this.deps.host)) throw refused("root_busy");
    const before = this.present(reading);
    const own = ownWith(roles, ipv4In(reading.addresses), this.deps.settings.lan);
    const after = { uplink, lan: [...lan], dhcp: !isOneCable(roles), pages: this.pages(own) };
    // Ports of a LAN get their networks anew.
    return { before, after, cut: after.dhcp || !Bun.deepEquals(before, after) };
  }

  private async isFlashed(): Promise<boolean> {
    return (await this.deps.host.read(UPLINK_FILE)) !== null;
  }

  /** Why nobody could change anything from these ports; null if somebody can. A new network has the page then. */
  private pageFault(lan: readonly string[]): string | null {
    if (lan.some((name) => this.deps.hasPage(name))) return null;
    return `no device at ${lan.join(", ")} may use the page, so nobody could change anything from the LAN any more`;
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
 * known before. The router's network is expected where the uplink will be.
 */
function ownWith(
  roles: PortRoles,
  addresses: LanFacts["addresses"],
  presentLan: readonly string[],
): Prefix[] {
  if (!isOneCable(roles))
    return freeNetworks(roles.lans.length, prefixesBeside(addresses, givenIn(addresses, presentLan)));
  const found = addresses.filter((each) => each.interface === roles.uplink && each.isLeased);
  return found.map(({ prefix }) => prefix);
}
