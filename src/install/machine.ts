import { existsSync, readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { contains, isIpv4, isLinkLocal, parseAddress } from "../base/address.ts";
import type { Settings } from "../base/settings.ts";
import { DHCP_UNIT } from "../dhcp/files.ts";
import { type LanFacts, lanFactsOf } from "../dhcp/lans.ts";
import { startedUnit } from "../dhcp/unit.ts";
import { ARP_TABLE, listArpTable } from "../killswitch/arp.ts";
import { foreignAmong, readRules } from "../killswitch/kernel-rules.ts";
import type { Rule } from "../killswitch/routing-rules.ts";
import { TABLE } from "../killswitch/ruleset.ts";
import { droppingChains, listTable } from "../killswitch/table.ts";
import { linksWithOwnQueue } from "../network/fair-queues.ts";
import { type HostNetwork, hostNetworkOf } from "../network/host-network.ts";
import { OWN_TABLES } from "../network/own-table.ts";
import { allSlots, isOwnTable, MAIN_SLOT, MARK_MASK, REMOTE_MARK, remoteLinkOf } from "../network/slot.ts";
import { roomFor, sysctlsFor } from "../network/sysctls.ts";
import { type OwnUla, ulasOf } from "../network/ula.ts";
import { leftOf } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { type Route, showLinks, showRoutes } from "../system/ip.ts";
import { BY_HAND, PACKAGED } from "../system/layout.ts";
import { listNft, type NftObject } from "../system/nft.ts";
import { memoryBytes } from "../system/resources.ts";
import { releaseWithoutModules } from "./modules.ts";
import { PATHS, UNITS } from "./paths.ts";

/** The facts about the machine that an installation needs. */
export interface Machine {
  /** Debian's name of the architecture; null if unknown. */
  architecture: string | null;
  /** Names of all network interfaces. */
  interfaces: readonly string[];
  network: HostNetwork;
  /** The implementation of WireGuard; null if there is none. */
  wireguard: "kernel" | "userspace" | null;
  systemd: boolean;
  /** The running kernel's release if an upgrade has removed modules that it still needs; null otherwise. */
  withoutModules: string | null;
  /** Folders of an installation whose contents are lost at each boot. */
  forgetful: readonly string[];
  /** Other programs' rules at the gateway's priorities, as text. */
  foreignRules: readonly string[];
  /** Other programs' chains that may drop what the gateway accepts. */
  droppingChains: readonly string[];
  /** The address from which the user is logged in over SSH; null at the machine itself. */
  sshClient: string | null;
  /** Settings below /proc/sys/net that the gateway changes, as they are now. */
  sysctls: readonly { path: string; value: string }[];
  /** The facts that the DHCP server needs. */
  facts: LanFacts;
  dhcp: Dhcp;
  /** Contents of `PATHS.sysctlsBefore` and `PATHS.environment`; null if there is no such file. */
  sysctlsBefore: string | null;
  environment: string | null;
  byHand: FilesByHand;
}

/** The DHCP server. */
interface Dhcp {
  /** Contents of its files; null if there are none. */
  config: string | null;
  unit: string | null;
  /** See `startedUnit`. */
  started: string | null;
}

/** The files of an installation by hand that exist, even if only in part, apart from those of `PATHS`. */
export interface FilesByHand {
  units: readonly string[];
  /** At most one program. */
  programs: readonly string[];
}

/** statfs(2): tmpfs, and the overlay that raspi-config puts over a read-only SD card. */
const IN_MEMORY = new Set([0x01021994, 0x794c7630]);

/** The remains of an installation, except its files. */
export interface Remains {
  /** The units that systemd knows. */
  units: readonly string[];
  /** The tunnel's interfaces. */
  network: readonly string[];
  /** The gateway's own addresses that DHCP's devices use for IPv6. */
  addresses: readonly OwnUla[];
  /** Tables of the firewall. */
  tables: readonly string[];
  rules: readonly Rule[];
  /** Interfaces with a queue of the gateway's. */
  queues: readonly string[];
  /** Routing tables of the gateway's that have routes. */
  routes: readonly { family: 4 | 6; table: number }[];
}

/** The service changes it while it runs, if nobody may use ICMP sockets. */
const PING_GROUPS = "ipv4/ping_group_range";

export async function machineOf(host: Host, settings: Settings): Promise<Machine> {
  const network = await hostNetworkOf(host, settings);
  // Otherwise its settings do not exist yet and cannot be recorded, because the first rule of the kill switch loads it.
  await host.run(["modprobe", "-q", "nf_conntrack"]).catch(() => "");
  const ours = [...sysctlsFor(network), ...roomFor(memoryBytes())];
  const sysctls = await Promise.all(
    [...ours.map(({ path }) => path), PING_GROUPS].map(async (path) => ({
      path,
      value: (await host.read(`/proc/sys/net/${path}`))?.trim() ?? "",
    })),
  );
  return {
    architecture: (await host.run(["dpkg", "--print-architecture"]).catch(() => "")).trim() || null,
    interfaces: (await namesOfLinks(host)).filter((name) => name !== "lo"),
    network,
    wireguard: await wireguardOf(host),
    systemd: existsSync("/run/systemd/system"),
    withoutModules: await releaseWithoutModules(host),
    forgetful: ["/etc", "/var/lib"].filter((folder) => IN_MEMORY.has(statfsSync(folder).type)),
    foreignRules: foreignAmong(await readRules(host)).map(({ priority, text }) => `${priority} ${text}`),
    droppingChains: await droppingChains(host).catch(() => []),
    sshClient: sshClientOf(process.pid),
    facts: await lanFactsOf(host),
    dhcp: await dhcpOf(host),
    sysctls: sysctls.filter(({ value }) => value !== ""),
    sysctlsBefore: await host.read(PATHS.sysctlsBefore),
    environment: await host.read(PATHS.environment),
    byHand: filesByHand(),
  };
}

/** The tunnels' interfaces have names that begin with `base`. */
export async function remainsIn(host: Host, base: string): Promise<Remains> {
  const present = await namesOfLinks(host);
  return {
    units: UNITS.toReversed().filter((unit) =>
      [BY_HAND, PACKAGED].some((layout) => existsSync(join(layout.units, unit))),
    ),
    network: await tunnelsAmong(host, present, base),
    addresses: await ulasOf(host),
    tables: [
      ...((await listTable(host)) === null ? [] : [TABLE]),
      ...((await listArpTable(host)) === null ? [] : [ARP_TABLE]),
      ...(await ownTablesOf(host)),
    ],
    rules: await readRules(host),
    queues: await linksWithOwnQueue(host).catch(() => []),
    routes: (await Promise.all(([4, 6] as const).map((family) => routesLeft(host, family)))).flat(),
  };
}

/** Also those that another program has emptied or switched off. */
async function ownTablesOf(host: Host): Promise<string[]> {
  const listed = await listNft(host, ["tables"]).catch((): NftObject[] => []);
  const names = listed.map(({ table }) => `${table?.family} ${table?.name}`);
  return OWN_TABLES.filter((table) => names.includes(table));
}

async function routesLeft(host: Host, family: 4 | 6): Promise<Remains["routes"]> {
  const shown = await showRoutes(host, family, "table", "all").catch((): Route[] => []);
  const tables = new Set(shown.map(({ table }) => Number(table)).filter(isOwnTable));
  return [...tables].map((table) => ({ family, table }));
}

/** Leaves out changes that a person has made to the package's units (`systemctl edit --full`). */
export function filesByHand(root = ""): FilesByHand {
  const isLeft = (path: string) => leftOf(root + path).length > 0;
  const units = UNITS.map((unit) => join(BY_HAND.units, unit)).filter(isLeft);
  return {
    units: units.filter((path) => !contentOf(root + path).includes(`${PACKAGED.program} `)),
    programs: [BY_HAND.program].filter(isLeft),
  };
}

/** Whether the address is served, whatever the tunnel does. */
export function isOnLan(client: string, { lans }: HostNetwork): boolean {
  const [text = "", zone = ""] = client.split("%");
  const address = parseAddress(text);
  if (address === null) return false;
  if (isLinkLocal(address)) return lans.some((lan) => lan.interface === zone);
  if (address === "::1" || (isIpv4(address) && address.startsWith("127."))) return true;
  return lans.flatMap((lan) => lan.prefixes).some((prefix) => contains(prefix, address));
}

/**
 * The interfaces of tunnels. `main`'s names are always the gateway's. Those of the other slots may belong to another
 * program, which has another mark.
 */
async function tunnelsAmong(host: Host, present: readonly string[], base: string): Promise<string[]> {
  const found: string[] = [];
  const remote = { links: [remoteLinkOf(base)], mark: REMOTE_MARK };
  for (const [number, { links, mark }] of [...allSlots(base), remote].entries()) {
    for (const link of links.filter((each) => present.includes(each))) {
      const fwmark = await host.run(["wg", "show", link, "fwmark"]).catch(() => "");
      // `off` if there is none.
      if (number === MAIN_SLOT || (Number(fwmark) & MARK_MASK) === mark) found.push(link);
    }
  }
  return found;
}

async function dhcpOf(host: Host): Promise<Dhcp> {
  const config = await host.read(PATHS.dhcpConfig);
  const [byHand, packaged] = await Promise.all(
    [BY_HAND, PACKAGED].map((layout) => host.read(join(layout.units, DHCP_UNIT))),
  );
  // Systemd looks in /etc first.
  const unit = byHand ?? packaged ?? null;
  return { config, unit, started: config === null ? null : await startedUnit(host) };
}

async function namesOfLinks(host: Host): Promise<string[]> {
  return (await showLinks(host)).map(({ ifname }) => ifname);
}

export async function wireguardOf(host: Host): Promise<Machine["wireguard"]> {
  const known =
    existsSync("/sys/module/wireguard") || (await succeeds(host, ["modprobe", "-nq", "wireguard"]));
  if (known) return "kernel";
  const program = process.env.WG_QUICK_USERSPACE_IMPLEMENTATION ?? "wireguard-go";
  return Bun.which(program) === null ? null : "userspace";
}

function succeeds(host: Host, argv: readonly string[]): Promise<boolean> {
  return host.run(argv).then(
    () => true,
    () => false,
  );
}

/** `sudo` removes SSH_CONNECTION, so this reads the environment of each parent process up to the login. */
function sshClientOf(pid: number): string | null {
  for (let next = pid; next > 1; next = parentOf(next)) {
    const found = /(?:^|\0)SSH_CONNECTION=(\S+) /.exec(contentOf(`/proc/${next}/environ`))?.[1];
    if (found !== undefined) return found;
  }
  return null;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(contentOf(`/proc/${pid}/status`))?.[1] ?? 0);
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
