import { type Address, isIpv6, lengthOf, type Prefix, parsePrefix, prefixOf } from "../base/address.ts";
import type { AlertCode } from "../base/alert.ts";
import { GatewayError, messageOf, Unsaved } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { nameIn } from "../base/name.ts";
import { Queue } from "../base/queue.ts";
import type { Devices } from "../devices/devices.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { randomUla } from "../network/ula.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { LEAST_MTU, linkMtuOf } from "../tunnel/mtu.ts";
import type { Session } from "../tunnel/session.ts";
import { carriedBy } from "../tunnel/state.ts";
import type { Tunnels } from "../tunnels/tunnels.ts";
import { formatEndpoint } from "../wireguard/config.ts";
import type { InterfacePeer } from "../wireguard/interface.ts";
import { generateKeyPair, publicKeyOf } from "../wireguard/key.ts";
import { isKey } from "../wireguard/key-text.ts";
import type { RemoteDevices } from "./devices.ts";
import { type Endpoint, endpointIn, NO_ENDPOINT, publicAddressIn, refusal } from "./endpoint.ts";
import { RemoteLink, type WantedLink } from "./link.ts";
import { chosenNetworks, freeNumber, gatewayIn, numberOf } from "./networks.ts";
import {
  type Access,
  addressesOf,
  idOf,
  REMOTE_PEERS,
  REMOTE_PRIVATE_KEY,
  type RemotePeer,
} from "./saved.ts";
import type {
  AddedRemoteDevice,
  NewRemoteDevice,
  RemoteChoice,
  RemoteDevice,
  RemoteDeviceChange,
  RemoteStatus,
} from "./schema.ts";

interface Deps {
  host: Host;
  store: Store;
  killSwitch: KillSwitch;
  devices: Devices;
  remote: RemoteDevices;
  tunnels: Tunnels;
  /** The program that provides WireGuard interfaces if the kernel does not. */
  userspace: string;
  /** The installation's unique local prefix, or null. */
  ula: string | null;
  alarm: (code: AlertCode, message: string) => void;
  onChange: (status: { on: boolean; devices: number }) => void;
  log: Pick<Log, "warn">;
}

/** WireGuard's usual port. */
const DEFAULT_PORT = 51_820;
/** What WireGuard adds around a packet: with IPv6 outside, 80 bytes. */
const OVERHEAD_BYTES = 80;
/** How often is checked whether the interface is as it should be, and who was heard. */
const LOOK_MS = 15_000;
const EVERYTHING = ["0.0.0.0/0", "::/0"];

/** Turns remote access on and off, and lets devices in. Changes and repairs run one after another. */
export class RemoteAccess {
  private readonly link: RemoteLink;
  private readonly queue = new Queue();
  /** Why the interface is not as it should be, or null. */
  private fault: string | null = null;
  /** Whether something closed that could not be saved. */
  private isUnsaved = false;
  /** Whether what the kernel reports is a change of this process. */
  private isSettling = false;

  constructor(private readonly deps: Deps) {
    this.link = new RemoteLink(deps.host, deps.userspace, deps.remote.link);
  }

  /** Only the operator may: strangers can reach a port of the gateway from then on. */
  turnOn(choice: RemoteChoice): Promise<RemoteStatus> {
    return this.queue.add(async () => {
      const before = this.deps.remote.access;
      const access = this.accessFor(choice, before);
      if (this.privateKey() === null) REMOTE_PRIVATE_KEY.write(this.deps.store, generateKeyPair().privateKey);
      await this.change(access, this.deps.remote.peers, false);
      if (before?.on !== true)
        this.deps.alarm("remote_changed", `Remote access is on: devices may come in at port ${access.port}.`);
      return this.read();
    });
  }

  turnOff(): Promise<RemoteStatus> {
    return this.queue.add(async () => {
      const { access, peers } = this.deps.remote;
      if (access !== null && (access.on || this.isUnsaved)) {
        await this.change({ ...access, on: false }, peers, true);
        this.deps.alarm("remote_changed", "Remote access is off: no device comes in from the road.");
      }
      return this.read();
    });
  }

  status(): Promise<RemoteStatus> {
    return this.read();
  }

  /** Lets a device in; resolves once it may call. */
  add(given: NewRemoteDevice): Promise<AddedRemoteDevice> {
    return this.queue.add(async () => {
      const { devices, remote, alarm } = this.deps;
      const access = this.assertOn();
      const name = this.freeName(given.name, null);
      const key = this.freeKey(given.public_key);
      const endpoint = this.endpoint();
      if (endpoint === null) throw unable(NO_ENDPOINT);
      const number = freeNumber(remote.peers.map(({ id }) => numberOf(addressIn(id))));
      if (number === null || remote.peers.length >= REMOTE_PEERS.max)
        throw refusal(
          "name",
          `there are ${REMOTE_PEERS.max} devices on the road, the maximum; remove one first`,
        );
      const id = idOf(access, number);
      const peer = { id, public_key: key, preshared_key: randomKey(), lan: given.lan ?? true };
      // First, so that it never has another exit.
      await remote.whileReserved(id, () =>
        devices.assign(id, { name, ...(given.exit !== undefined && { exit: given.exit }) }),
      );
      try {
        await this.change(access, [...remote.peers, peer], false);
      } catch (error) {
        await remote.whileReserved(id, () => devices.forget(id)).catch(() => {});
        throw error;
      }
      alarm("remote_changed", `${name} may come in from the road.`);
      return {
        id,
        name,
        addresses: addressesOf(access, id).map(prefixOf),
        public_key: publicKeyOf(this.privateKey() ?? ""),
        preshared_key: peer.preshared_key,
        endpoint,
        allowed_ips: EVERYTHING,
        dns: gatewayIn(access),
        mtu: this.mtu(),
      };
    });
  }

  update(nameOrId: string, given: RemoteDeviceChange): Promise<void> {
    return this.queue.add(async () => {
      const { devices, remote } = this.deps;
      const peer = this.named(nameOrId);
      const { name, exit, lan } = given;
      if (name === undefined && exit === undefined && lan === undefined)
        throw new GatewayError("bad_request", "name, exit or lan is required");
      if (name !== undefined) this.freeName(name, peer.id);
      if (name !== undefined || exit !== undefined)
        await devices.assign(peer.id, {
          ...(name !== undefined && { name }),
          ...(exit !== undefined && { exit }),
        });
      if (lan === undefined || (lan === peer.lan && !this.isUnsaved)) return;
      const peers = remote.peers.map((each) => (each === peer ? { ...each, lan } : each));
      await this.change(remote.access, peers, !lan);
    });
  }

  /** Ends its session in one transaction: none of its packets passes once this resolves. */
  remove(nameOrId: string): Promise<void> {
    return this.queue.add(async () => {
      const { devices, remote, store, alarm } = this.deps;
      const peer = this.named(nameOrId);
      const name = devices.nameOf(peer.id) ?? peer.id;
      const removed = this.change(
        remote.access,
        remote.peers.filter((each) => each !== peer),
        true,
      );
      const unsaved = await removed.then(
        () => null,
        (error: unknown) => {
          if (error instanceof Unsaved) return error;
          throw error;
        },
      );
      await remote.whileReserved(peer.id, () => devices.forget(peer.id)).catch(() => {});
      alarm("remote_changed", `${name} no longer comes in from the road.`);
      if (unsaved !== null) throw unsaved;
      store.scrub();
    });
  }

  /** Reads the decisions again, after another writer has changed the database. */
  load(): Promise<void> {
    return this.queue.add(async () => {
      await this.deps.remote.load();
      await this.settle();
      this.tell();
    });
  }

  /** Keeps the interface as it should be, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await this.deps.host.sleep(LOOK_MS, signal);
    }
  }

  /** To be called when the interface may have lost something. */
  lost(link: string | null): void {
    if (link !== null && link !== this.link.name) return;
    if (this.isSettling || this.deps.remote.access?.on !== true) return;
    void this.look();
  }

  private async look(): Promise<void> {
    await this.queue
      .add(async () => {
        await this.settle();
        if (this.deps.remote.access?.on === true) this.hear(await this.link.peers());
      })
      .catch((error: unknown) => this.deps.log.warn(`remote access: ${messageOf(error)}`));
  }

  /** What opens must be saved first. What only closes takes effect even if it cannot be saved. */
  private async change(
    access: Access | null,
    peers: readonly RemotePeer[],
    onlyCloses: boolean,
  ): Promise<void> {
    const { remote } = this.deps;
    const before = { access: remote.access, peers: remote.peers };
    if (!onlyCloses) this.save(access, peers);
    try {
      await remote.set(access, peers);
      await this.settle();
    } catch (error) {
      // What closes is saved even if the interface cannot be told.
      if (onlyCloses) this.save(access, peers);
      else {
        this.save(before.access, before.peers);
        await remote.set(before.access, before.peers).catch(() => {});
        await this.settle().catch(() => {});
      }
      throw error;
    } finally {
      this.tell();
    }
    if (!onlyCloses) return;
    try {
      this.save(access, peers);
    } catch (error) {
      this.isUnsaved = true;
      throw new Unsaved(error);
    }
  }

  private save(access: Access | null, peers: readonly RemotePeer[]): void {
    this.deps.remote.save(access, peers);
    this.isUnsaved = false;
  }

  /** Makes the interface as it should be. The firewall and the routing rules come before. */
  private async settle(): Promise<void> {
    const { remote, killSwitch } = this.deps;
    this.isSettling = true;
    try {
      const wanted = remote.access?.on === true ? this.wanted(remote.access) : null;
      if (wanted === null) await this.link.close();
      else if (await this.link.apply(wanted)) await killSwitch.restoreRoutes();
      this.fault = null;
    } catch (error) {
      this.fault = messageOf(error);
      throw error;
    } finally {
      this.isSettling = false;
    }
  }

  private wanted(access: Access): WantedLink | null {
    const privateKey = this.privateKey();
    if (privateKey === null)
      throw unable("the gateway's own key for remote access is lost: turn it on again");
    const hasIpv6 = this.deps.killSwitch.network.ipv6 === "on";
    const own = gatewayIn(access).map((address, at) =>
      parsePrefix(`${address}/${lengthOf([access.ipv4, access.ipv6][at] ?? access.ipv4)}`),
    );
    return {
      privateKey,
      port: access.port,
      addresses: own.filter(
        (each) => each !== null && (hasIpv6 || !isIpv6(each.replace(/\/.*/, ""))),
      ) as Prefix[],
      mtu: this.mtu(),
      peers: this.deps.remote.peers.map(({ id, public_key, preshared_key }) => ({
        publicKey: public_key,
        presharedKey: preshared_key,
        addresses: addressesOf(access, id),
      })),
    };
  }

  private hear(peers: readonly InterfacePeer[]): void {
    const { remote, host } = this.deps;
    const since = host.now() - host.monotonic();
    remote.heard = new Map(
      remote.peers.flatMap(({ id, public_key }) => {
        const { latestHandshake = 0 } = peers.find(({ publicKey }) => publicKey === public_key) ?? {};
        return latestHandshake === 0 ? [] : [[id, latestHandshake - since] as const];
      }),
    );
  }

  private async read(): Promise<RemoteStatus> {
    const { remote } = this.deps;
    const { access } = remote;
    const isOn = access?.on === true;
    const peers = isOn ? await this.link.peers() : [];
    this.hear(peers);
    const key = this.privateKey();
    const endpoint = this.endpoint();
    return {
      on: isOn,
      port: access?.port ?? null,
      interface: this.link.name,
      public_key: key === null ? null : publicKeyOf(key),
      through: access?.through ?? null,
      endpoint: endpoint === null ? null : formatEndpoint(endpoint.host, endpoint.port),
      error: isOn ? this.errorOf(access) : null,
      devices: remote.peers.map((peer) => this.row(peer, peers)),
    };
  }

  private row({ id, public_key, lan }: RemotePeer, peers: readonly InterfacePeer[]): RemoteDevice {
    const { devices, remote } = this.deps;
    const peer = peers.find(({ publicKey }) => publicKey === public_key);
    const handshake = peer?.latestHandshake ?? 0;
    return {
      id,
      name: devices.nameOf(id) ?? "",
      addresses: remote.addressesOf(id),
      public_key,
      exit: devices.exitOf(id),
      lan,
      online: devices.isOnline(id),
      endpoint: peer?.endpoint?.address ?? null,
      latest_handshake: handshake === 0 ? null : new Date(handshake).toISOString(),
      rx_bytes: peer?.txBytes ?? 0,
      tx_bytes: peer?.rxBytes ?? 0,
    };
  }

  private errorOf({ through }: Access): string | null {
    const { killSwitch } = this.deps;
    if (this.fault !== null) return this.fault;
    if (!killSwitch.isWanted) return "the kill switch is off, and without it no device comes in";
    if (killSwitch.remote === null)
      return "something else here has the addresses of devices on the road, such as a new network of the LAN or a tunnel";
    if (through !== null && this.sessionOf(through) === null)
      return `the ${tunnelTitle(through)} is not connected`;
    if (through === null && !killSwitch.network.online) return "the uplink is down";
    return this.endpoint() === null ? NO_ENDPOINT : null;
  }

  /** What devices call; null if the gateway does not know it. */
  private endpoint(): Endpoint | null {
    const { access } = this.deps.remote;
    if (access === null) return null;
    if (access.endpoint !== null) return access.endpoint;
    const own =
      access.through === null
        ? publicAddressIn(this.deps.killSwitch.network.uplinkAddresses)
        : (this.sessionOf(access.through)?.endpoint.address ?? null);
    return own === null ? null : { host: own, port: access.port };
  }

  private sessionOf(tunnel: string): Session | null {
    const found = this.deps.tunnels.all().find(({ name }) => name === tunnel);
    return found === undefined ? null : carriedBy(found.controller.state);
  }

  /** What a device may send: it fits into the way in, and IPv6 permits no less. */
  private mtu(): number {
    const { killSwitch, remote } = this.deps;
    const { uplinkMtu } = killSwitch.network;
    const through = remote.access?.through ?? null;
    const session = through === null ? null : this.sessionOf(through);
    const outer = session === null ? uplinkMtu : linkMtuOf(session.server.config, uplinkMtu);
    const inner = through !== null && session === null ? LEAST_MTU : outer - OVERHEAD_BYTES;
    return Math.max(inner, LEAST_MTU);
  }

  private accessFor({ port, endpoint, through }: RemoteChoice, before: Access | null): Access {
    if (through !== null) this.deps.tunnels.named(through, "through");
    const chosen = port ?? before?.port ?? DEFAULT_PORT;
    if (!Number.isInteger(chosen) || chosen < 1 || chosen > 65_535)
      throw refusal("port", "must be a number from 1 to 65535");
    const networks = before ?? this.networks();
    return {
      on: true,
      port: chosen,
      endpoint: endpoint === null ? null : endpointIn(endpoint, chosen),
      through,
      ipv4: networks.ipv4,
      ipv6: networks.ipv6,
    };
  }

  private networks() {
    const { killSwitch, ula, devices } = this.deps;
    const isFree = (prefix: Prefix) =>
      killSwitch.wayTo(prefix).overlap === null &&
      killSwitch.wayTo(prefix).interfaces.length === 0 &&
      !devices.hasPrefixIn(prefix);
    const found = chosenNetworks(ula ?? randomUla(), isFree);
    if (found === null) throw unable("no network of 10.0.0.0/8 is free for devices on the road");
    return found;
  }

  private assertOn(): Access {
    const { access } = this.deps.remote;
    if (access?.on === true) return access;
    throw unable("remote access is off; to turn it on, type on the gateway: sudo portcullis remote on");
  }

  private named(nameOrId: string): RemotePeer {
    const { remote, devices } = this.deps;
    const found =
      remote.peers.find(({ id }) => id === nameOrId) ??
      remote.peers.find(({ id }) => isSameName(devices.nameOf(id) ?? "", nameOrId));
    if (found !== undefined) return found;
    throw new GatewayError("not_found", "name: no device on the road has this name");
  }

  private freeName(text: string, own: Prefix | null): string {
    const name = nameIn("name", text);
    const { remote, devices } = this.deps;
    const other = remote.peers.find(({ id }) => id !== own && isSameName(devices.nameOf(id) ?? "", name));
    if (other !== undefined) throw refusal("name", "another device on the road has this name");
    return name;
  }

  private freeKey(key: string): string {
    if (!isKey(key)) throw refusal("public_key", "must be a WireGuard key: 44 characters of base64");
    const own = this.privateKey();
    const isTaken = this.deps.remote.peers.some(({ public_key }) => public_key === key);
    if (isTaken || (own !== null && publicKeyOf(own) === key))
      throw refusal("public_key", "is in use already; each device needs a key of its own");
    return key;
  }

  private privateKey(): string | null {
    return REMOTE_PRIVATE_KEY.read(this.deps.store);
  }

  private tell(): void {
    const { access, ids } = this.deps.remote;
    this.deps.onChange({ on: access?.on === true, devices: ids.length });
    this.deps.devices.remoteChanged();
  }
}

function randomKey(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64();
}

function isSameName(one: string, other: string): boolean {
  return one.normalize("NFC").toLowerCase() === other.normalize("NFC").toLowerCase();
}

function addressIn(id: Prefix): Address {
  return id.slice(0, id.indexOf("/")) as Address;
}

function unable(what: string): GatewayError {
  return new GatewayError("unable", what);
}
