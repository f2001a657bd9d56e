import { parsePrefix, prefixOf } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import { without } from "../base/decision.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { nameIn } from "../base/name.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import type { Devices } from "../devices/devices.ts";
import { Addresses } from "../forwards/addresses.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { formatEndpoint } from "../wireguard/config-text.ts";
import type { Admissions } from "./admissions.ts";
import type { Decided, RemoteDevices } from "./devices.ts";
import type { Endpoint } from "./endpoint.ts";
import type { HeardPeer } from "./handshakes.ts";
import {
  formatCode,
  type HomeCode,
  homePrefixesIn,
  isOfHome,
  MAX_HOME_PREFIXES,
  newCodeId,
  parseCode,
} from "./home-code.ts";
import { HOMES, type Home, MAX_REACHED } from "./home-record.ts";
import { exitKeys, freeKey, gatewayKey } from "./identity.ts";
import { gatewayIn } from "./networks.ts";
import { refused } from "./refusals.ts";
import { type Access, addressesOf } from "./saved.ts";
import type { HomeLink, HomeLinks, NewHomeCode } from "./schema.ts";

interface Deps {
  host: Host;
  store: Store;
  killSwitch: KillSwitch;
  devices: Devices;
  remote: RemoteDevices;
  wayIn: { readonly endpoint: Endpoint | null; readonly fault: Reason | null; readonly mtu: number };
  admissions: Admissions;
  catalogue: Pick<Catalogue, "addCustom" | "remove" | "server">;
  tunnels: Pick<Tunnels, "assertNoClash" | "using">;
  /** As WireGuard knows them. */
  peers: () => Promise<readonly HeardPeer[]>;
  /** Changes run one after another; each resolves once it is saved and in force. */
  change: (edit: (decided: Decided) => Decided) => Promise<void>;
  /** The gateway's own name, as the other home is told it. */
  hostname: string;
  alarm: Alarm;
}

/** Another home that would leave here by a tunnel to a home. */
export interface HomeCircle {
  home: string;
  tunnel: string;
}

/** WireGuard begins anew by then while packets pass, and its keepalives do. */
const ALIVE_MS = 180_000;

/**
 * Other homes, whose gateways are peers of the interface of remote devices. Each home decides which of its devices the
 * other reaches. They learn of each other by two codes without secrets, one in each direction.
 */
export class Homes {
  private readonly addresses: Addresses;
  /** The addresses that are permitted. */
  private reached = new Map<Mac, readonly string[]>();

  constructor(private readonly deps: Deps) {
    const { host, devices, killSwitch, remote } = deps;
    this.addresses = new Addresses({
      host,
      seen: (device) => devices.roster.addressesOf(device),
      isOthers: (device, address) => ![null, device].includes(devices.roster.ownerOf(address) as Mac | null),
      lans: () => openLans(killSwitch),
    });
    remote.addressesAtHome = (device) => this.addresses.of(device);
    devices.keep((mac) => this.devices.includes(mac));
    devices.onChange(() => void this.look());
  }

  async list(): Promise<HomeLinks> {
    const { remote, peers: ask } = this.deps;
    const peers = remote.homes.length === 0 ? [] : await ask();
    return { links: this.deps.remote.homes.map((home) => this.rowOf(home, peers)) };
  }

  /** The homes whose packets are refused because their exit leads to a home. */
  get circles(): HomeCircle[] {
    const { killSwitch, remote } = this.deps;
    return remote.homes.flatMap(({ name, exit }) => {
      const device = killSwitch.remote?.devices.find(({ id }) => id === exit?.id);
      const tunnel = device?.exit.to === "tunnel" ? device.exit.name : null;
      return tunnel !== null && killSwitch.leadsToHome(tunnel) ? [{ home: name, tunnel }] : [];
    });
  }

  /** Begins a link: the code is for the other home, whose answer comes back. */
  async add(name: string): Promise<NewHomeCode> {
    const access = this.deps.admissions.assertOn();
    this.assertTold();
    const free = this.freeName(nameIn("name", name));
    // Its exit will have this name.
    if (this.deps.catalogue.server("custom", free) !== null) throw refused("name_exists", { name: free });
    const home = {
      ...{ name: free, id: newCodeId(), offered: true },
      ...{ public_key: null, endpoint: null, prefixes: [], devices: [] },
      exit: { id: this.deps.admissions.freeId(access), public_key: null },
    };
    await this.deps.change((decided) => ({ ...decided, homes: [...decided.homes, home] }));
    return { name: home.name, code: this.codeOf(home) };
  }

  /** Takes the code of the other home: the first of the two, or its answer to the one from here. */
  async take(text: string, name: string | null): Promise<NewHomeCode> {
    const code = parseCode(text);
    const access = this.deps.admissions.assertOn();
    if (!code.isAnswer) this.assertTold();
    const home = code.isAnswer ? this.answered(code, name) : this.offered(code, name, access);
    this.assertApart(code);
    this.addServer(code, home.name);
    const link = (decided: Decided) => ({
      ...decided,
      homes: [...decided.homes.filter(({ id }) => id !== home.id), home],
    });
    await this.deps.change(link).catch((error: unknown) => {
      this.removeServer(home);
      throw error;
    });
    this.deps.alarm("remote_changed", { what: "linked", device: home.name });
    return { name: home.name, code: code.isAnswer ? null : this.codeOf(home) };
  }

  /** Lets the other home reach a device here, or no longer. */
  async reach(name: string, text: string, may: boolean): Promise<void> {
    const { id, devices } = this.named(name);
    const device = parseMac(text);
    if (device === null || (may && !this.deps.devices.roster.macs.includes(device)))
      throw refused("link_device_unknown");
    if (may && devices.length >= MAX_REACHED && !devices.includes(device))
      throw refused("limit_reached", { field: "device", of: "devices", max: MAX_REACHED });
    const others = devices.filter((each) => each !== device);
    if (!may && others.length === devices.length && this.deps.remote.decision.isSaved)
      throw refused("link_device_unreached");
    await this.deps.change((decided) => ({
      ...decided,
      homes: decided.homes.map((home) =>
        home.id === id ? { ...home, devices: may ? [...others, device] : others } : home,
      ),
    }));
  }

  /** Lets the other home leave here, by the exit that people give it, or no longer. */
  async letLeave(name: string, may: boolean): Promise<void> {
    const { exit, ...home } = this.named(name);
    const id = exit === null ? null : parsePrefix(exit.id);
    if (id === null || exit === null || exit.public_key === null) throw refused("link_without_exit");
    const { admissions, remote } = this.deps;
    if (!may) return admissions.remove(id);
    if (!remote.peers.some((peer) => peer.id === id))
      await admissions.addHome(home.name, id, exit.public_key);
  }

  /** Ends the link here; the other home finds nobody any more. */
  async remove(name: string): Promise<void> {
    const { remote, change, alarm } = this.deps;
    const known = this.named(name, remote.decision.saved.homes);
    const { id, exit } = known;
    if (remote.peers.some((peer) => peer.id === exit?.id)) await this.letLeave(name, false);
    await change((decided) => {
      const homes = without(decided.homes, (home) => home.id === id);
      return homes === null ? decided : { ...decided, homes };
    }).finally(() => {
      if (remote.homes.some((home) => home.id === id)) return;
      this.removeServer(known);
      alarm("remote_changed", { what: "unlinked", device: known.name });
    });
  }

  /** The exit through the other home is a server of one's own. */
  private addServer({ id, key, endpoint, exit }: HomeCode, name: string): void {
    const own = exitKeys(this.deps.store, id);
    if (exit === null || endpoint === null || own === null) return;
    // The service may have been killed after it was saved, and before the link was.
    this.removeServer({ name, id });
    const server = {
      ...{ name, public_key: key, private_key: own.privateKey, mtu: exit.mtu },
      endpoint: formatEndpoint(endpoint.host, endpoint.port),
      address: exit.addresses.join(", "),
      dns: exit.dns.join(", "),
    };
    this.deps.catalogue.addCustom(server, (config) => this.deps.tunnels.assertNoClash(config));
  }

  /** That of a link which is gone. One that a tunnel uses stays until people remove it. */
  private removeServer({ name, id }: Pick<Home, "name" | "id">): void {
    const { catalogue, tunnels, store } = this.deps;
    const own = exitKeys(store, id)?.privateKey;
    // People may have removed it, and may have made another of this name.
    const isOurs = own !== undefined && catalogue.server("custom", name)?.config.interface.privateKey === own;
    if (isOurs && tunnels.using("custom", name) === null) catalogue.remove("custom", name);
  }

  /** Devices may have other addresses, or none. */
  private async look(): Promise<void> {
    const reached = new Map(this.devices.map((device) => [device, this.addresses.of(device)]));
    if (Bun.deepEquals(reached, this.reached)) return;
    this.reached = reached;
    await this.deps.remote.addressesChanged().catch(() => {
      this.reached = new Map();
    });
  }

  private get devices(): Mac[] {
    return [...new Set(this.deps.remote.homes.flatMap(({ devices }) => devices))];
  }

  private offered(code: HomeCode, name: string | null, access: Access): Home {
    const { id, key, endpoint, prefixes, name: suggested } = code;
    const { remote, store, wayIn, admissions } = this.deps;
    if (remote.homes.some((home) => home.id === id || home.public_key === key) || key === gatewayKey(store))
      throw refused("link_known");
    if (endpoint === null && wayIn.endpoint === null) throw refused("link_uncallable");
    const canLeave = code.exitKey !== null && wayIn.endpoint !== null;
    const exit = canLeave ? { id: admissions.freeId(access), public_key: code.exitKey } : null;
    freeKey(remote.peers, key, null);
    const free = this.freeName(nameIn("name", name ?? suggested));
    return { name: free, id, offered: false, public_key: key, endpoint, prefixes, exit, devices: [] };
  }

  private answered({ id, key, endpoint, prefixes, exitKey }: HomeCode, name: string | null): Home {
    const { remote, store, wayIn } = this.deps;
    const home = remote.homes.find((each) => each.id === id && each.offered);
    if (home === undefined || home.public_key !== null) throw refused("link_unasked");
    if (name !== null && name !== home.name) throw refused("link_named", { name: home.name });
    if (remote.homes.some((each) => each.public_key === key)) throw refused("link_known");
    freeKey(remote.peers, key, gatewayKey(store));
    if (endpoint === null && wayIn.endpoint === null) throw refused("link_uncallable");
    const exit = home.exit && { ...home.exit, public_key: exitKey };
    return { ...home, public_key: key, endpoint, prefixes, exit };
  }

  /** What has one of its addresses here would be sent to the other home, or taken for the gateway's own at its exit. */
  private assertApart({ prefixes, exit }: HomeCode): void {
    const { killSwitch } = this.deps;
    const inside = homePrefixesIn(exit === null ? [] : [...exit.addresses, ...exit.dns]) ?? [];
    for (const prefix of [...prefixes, ...inside]) {
      const owner = killSwitch.ownerOf(prefix) ?? killSwitch.wayTo(prefix).overlap;
      if (owner !== null) throw refused("link_overlaps", { prefix, owner });
    }
  }

  /** The other home would call the code invalid. */
  private assertTold(): void {
    const prefix = this.prefixes[MAX_HOME_PREFIXES];
    const [max, count] = [MAX_HOME_PREFIXES, this.prefixes.length];
    if (prefix !== undefined) throw refused("link_networks_many", { prefix, max, count });
  }

  private codeOf(home: Pick<Home, "id" | "offered" | "exit" | "endpoint">): string {
    const { id, offered, exit } = home;
    const { wayIn, store, hostname, remote } = this.deps;
    const { access } = remote;
    const address = exit === null ? null : parsePrefix(exit.id);
    const endpoint = wayIn.endpoint;
    return formatCode({
      ...{ id, isAnswer: !offered, key: gatewayKey(store) ?? "", name: offered ? hostname : "" },
      endpoint: endpoint === null ? null : { host: endpoint.host, port: endpoint.port },
      // More may have come since the code was made, which is shown again.
      prefixes: this.prefixes.slice(0, MAX_HOME_PREFIXES),
      exit:
        address === null || access === null
          ? null
          : {
              addresses: addressesOf(access, address).map(prefixOf),
              dns: gatewayIn(access),
              mtu: wayIn.mtu,
            },
      exitKey: offered || home.endpoint !== null ? (exitKeys(store, id)?.publicKey ?? null) : null,
    });
  }

  /** Those of the networks that may use the page. The others take no part. */
  private get prefixes() {
    const { killSwitch } = this.deps;
    const own = openLans(killSwitch)
      .flatMap((lan) => lan.prefixes)
      .filter(isOfHome);
    return [...new Set(own)].filter((prefix) => killSwitch.network.ipv6 === "on" || !prefix.includes(":"));
  }

  private freeName(name: string): string {
    const { homes } = this.deps.remote;
    if (homes.length >= HOMES.max)
      throw refused("limit_reached", { field: "name", of: "links", max: HOMES.max });
    if (homes.some((home) => isSameName(home.name, name))) throw refused("name_exists", { name });
    return name;
  }

  private named(name: string, homes = this.deps.remote.homes): Home {
    const found = homes.find((home) => isSameName(home.name, name));
    if (found === undefined) throw refused("link_unknown");
    return found;
  }

  private rowOf(home: Home, peers: readonly HeardPeer[]): HomeLink {
    const peer = peers.find(({ publicKey }) => publicKey === home.public_key);
    const { name, public_key, endpoint, prefixes, offered } = home;
    const heard = peer?.latestHandshake ?? 0;
    const { devices, host, remote } = this.deps;
    const heardAt = peer?.heardAt ?? Number.NEGATIVE_INFINITY;
    const isAlive = host.monotonic() - heardAt < ALIVE_MS;
    return {
      name,
      state: public_key === null ? "waiting" : isAlive ? "up" : "down",
      ...(this.faultOf(home) ?? { error: null }),
      code: (offered && public_key !== null) || heard > 0 ? null : this.codeOf(home),
      public_key,
      endpoint,
      prefixes: [...prefixes],
      exit:
        (home.exit?.public_key ?? null) !== null ? remote.peers.some(({ id }) => id === home.exit?.id) : null,
      devices: home.devices.map((id) => ({
        id,
        name: devices.nameOf(id) ?? "",
        addresses: [...this.addresses.of(id)],
      })),
      latest_handshake: heard === 0 ? null : new Date(heard).toISOString(),
      rx_bytes: peer?.rxBytes ?? 0,
      tx_bytes: peer?.txBytes ?? 0,
    };
  }

  /** Why nothing passes, or not all, as far as it is known here. */
  private faultOf({ name, public_key, endpoint }: Home): Reason | null {
    const { killSwitch, remote, wayIn } = this.deps;
    if (remote.access?.on !== true) return reasonOf(refused("remote_off"));
    if (public_key === null) return null;
    if (killSwitch.remote?.homes?.some((home) => home.name === name) !== true)
      return reasonOf(refused("link_closed"));
    const circle = this.circles.find(({ home }) => home === name);
    if (circle !== undefined) return reasonOf(refused("link_circle", { tunnel: circle.tunnel }));
    return endpoint === null ? wayIn.fault : null;
  }
}

/** A mesh has links of its own. */
function openLans({ served }: Pick<KillSwitch, "served">) {
  return served.filter(({ mesh }) => !mesh);
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
