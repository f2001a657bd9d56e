import { addressOf, isLinkLocal, type Prefix, parsePrefix, prefixOf } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import { without } from "../base/decision.ts";
import type { Devices } from "../devices/devices.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Lan } from "../network/lan.ts";
import type { Store } from "../store/store.ts";
import type { Decided, RemoteDevices } from "./devices.ts";
import { freeKey, freeName, gatewayKey, named } from "./identity.ts";
import type { InboundPath } from "./inbound-path.ts";
import { freeNumber, gatewayIn, numberOf } from "./networks.ts";
import { refused } from "./refusals.ts";
import { type Access, addressesOf, idOf, REMOTE_PEERS, type RemotePeer } from "./saved.ts";
import type { AddedRemoteDevice, NewRemoteDevice, RemoteDeviceChange } from "./schema.ts";

interface Deps {
  store: Store;
  killSwitch: Pick<KillSwitch, "lans">;
  devices: Pick<Devices, "assign" | "forget" | "nameOf">;
  remote: RemoteDevices;
  /** Resolves once it is saved and in force. */
  change: (edit: (decided: Decided) => Decided) => Promise<void>;
  wayIn: Pick<InboundPath, "assertEndpoint" | "mtu">;
  /** The devices for which there are schedules, rules or lists, former ones included. */
  decided: () => ReadonlySet<string>;
  alarm: Alarm;
}

const EVERYTHING = ["0.0.0.0/0", "::/0"];

/** Lets devices in, changes what they may, and removes them. Its methods run one after another. */
export class Admissions {
  constructor(private readonly deps: Deps) {}

  async add(given: NewRemoteDevice): Promise<AddedRemoteDevice> {
    const { killSwitch, wayIn, store } = this.deps;
    const access = this.assertOn();
    const name = freeName(this.known, given.name, null);
    const key = freeKey(this.keyed, given.public_key, gatewayKey(store));
    const endpoint = wayIn.assertEndpoint();
    const id = this.freeId(access);
    const preshared_key = randomKey();
    const peer = { id, public_key: key, preshared_key, lan: given.lan ?? true };
    await this.admit(peer, name, given.exit ?? null);
    return {
      id,
      name,
      addresses: addressesOf(access, id).map(prefixOf),
      public_key: gatewayKey(store) ?? "",
      preshared_key,
      endpoint,
      allowed_ips: EVERYTHING,
      home_ips: peer.lan ? homePrefixes(killSwitch.lans) : [],
      dns: gatewayIn(access),
      mtu: wayIn.mtu,
    };
  }

  /** Lets another home leave here, as a device without the LAN. */
  async addHome(name: string, id: Prefix, key: string): Promise<void> {
    const { store } = this.deps;
    const peer = { id, public_key: freeKey(this.keyed, key, gatewayKey(store)), lan: false };
    await this.admit(peer, freeName(this.known, name, null), null);
  }

  private async admit(peer: RemotePeer, name: string, exit: string | null): Promise<void> {
    const { devices, remote, change, alarm } = this.deps;
    const { id } = peer;
    // First, so that it never has another exit, not even one that was left of a former device.
    await remote.whileReserved(id, () => devices.assign(id, { name, exit }));
    try {
      await change((decided) => ({ ...decided, peers: [...decided.peers, peer] }));
    } catch (error) {
      await remote.whileReserved(id, () => devices.forget(id)).catch(() => {});
      throw error;
    }
    alarm("remote_changed", { what: "added", device: name });
  }

  async update(nameOrId: string, { name, exit, lan }: RemoteDeviceChange): Promise<void> {
    const { devices, remote } = this.deps;
    const peer = named(this.known, nameOrId);
    if (name === undefined && exit === undefined && lan === undefined)
      throw refused("required", { field: "name, exit or lan" });
    if (name !== undefined) freeName(this.known, name, peer.id);
    if (name !== undefined || exit !== undefined)
      await devices.assign(peer.id, {
        ...(name !== undefined && { name }),
        ...(exit !== undefined && { exit }),
      });
    if (lan !== undefined && (lan !== peer.lan || !remote.decision.isSaved)) await this.permitLan(peer, lan);
  }

  async remove(nameOrId: string): Promise<void> {
    const { devices, remote, change, alarm } = this.deps;
    const peer = named(this.saved, nameOrId);
    const name = this.saved.nameOf(peer.id) ?? peer.id;
    const wasIn = remote.isKnown(peer.id);
    const others = (decided: Decided) => {
      const peers = without(decided.peers, ({ id }) => id === peer.id);
      return peers === null ? decided : { ...decided, peers };
    };
    await change(others).finally(async () => {
      if (remote.isKnown(peer.id)) return;
      await remote.whileReserved(peer.id, () => devices.forget(peer.id)).catch(() => {});
      if (wasIn) alarm("remote_changed", { what: "removed", device: name });
    });
  }

  private permitLan(peer: RemotePeer, lan: boolean): Promise<void> {
    return this.deps.change((decided) => ({
      ...decided,
      peers: decided.peers.map((each) => (each.id === peer.id ? { ...each, lan } : each)),
    }));
  }

  /** What could not be removed from the database may be removed again, by its name there. */
  private get saved() {
    const { remote, devices, store } = this.deps;
    const names = new Map(store.devices().map(({ id, name }) => [id, name]));
    const nameOf = (id: RemotePeer["id"]) => devices.nameOf(id) ?? names.get(id) ?? null;
    return { peers: remote.decision.saved.peers, nameOf };
  }

  private get known() {
    const { remote, devices } = this.deps;
    return { peers: remote.peers, nameOf: (id: RemotePeer["id"]) => devices.nameOf(id) };
  }

  /** All peers of the interface. */
  private get keyed() {
    const { peers, homes } = this.deps.remote;
    return [...peers, ...homes];
  }

  /** Throws while remote access is off. */
  assertOn(): Access {
    const { access } = this.deps.remote;
    if (access?.on === true) return access;
    throw refused("remote_off");
  }

  /** What a person has decided for a former device must not hold for another one. */
  freeId(access: Access): Prefix {
    const { peers, homes } = this.deps.remote;
    if (peers.length >= REMOTE_PEERS.max)
      throw refused("limit_reached", { field: "name", of: "remotes", max: REMOTE_PEERS.max });
    const kept = homes.flatMap(({ exit }) => (exit === null ? [] : (parsePrefix(exit.id) ?? [])));
    const taken = [...kept, ...peers.map(({ id }) => id)].map((id) => numberOf(addressOf(id)));
    const decided = this.deps.decided();
    const number = freeNumber(taken, (each) => !decided.has(idOf(access, each)));
    if (number === null) throw refused("remote_ids_taken");
    return idOf(access, number);
  }
}

function randomKey(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64();
}

/** What remote devices find at home: the LAN's prefixes. */
function homePrefixes(lans: readonly Lan[]): Prefix[] {
  const prefixes = lans.flatMap((lan) => lan.prefixes);
  return [...new Set(prefixes)].filter((prefix) => !isLinkLocal(addressOf(prefix)));
}
