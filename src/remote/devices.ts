import { type Address, addressOf, contains, isWithin, type Prefix } from "../base/address.ts";
import type { Bus } from "../base/bus.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import { type Access, addressesOf, partOf, REMOTE_DECISION, REMOTE_PEERS, type RemotePeer } from "./saved.ts";

interface Deps {
  store: {
    read(key: string): string | null;
    write(key: string, value: string): void;
    forget(key: string): void;
    atomically(work: () => void): void;
  };
  killSwitch: { update(owner: string, part: PolicyPart | null): Promise<void> };
  events: Pick<Bus<RemoteEvents>, "published">;
  /** The interface from which their packets come. */
  link: string;
}

export interface RemoteEvents {
  /** Somebody wants to know who was heard, as of now. */
  remote_asked: null;
}

/** The owner of remote access in the kill switch; never a tunnel's name. */
const OWNER = "REMOTE";

/** When a device was heard, on the monotone clock. */
type Heard = ReadonlyMap<Prefix, number>;

/** The devices on the road, in the database and in the kill switch. */
export class RemoteDevices {
  private state: { access: Access | null; peers: readonly RemotePeer[] };
  private latest: Heard = new Map();
  private readonly listeners: (() => void)[] = [];
  private readonly reserved = new Set<string>();

  constructor(private readonly deps: Deps) {
    this.state = this.stored();
  }

  get heard(): Heard {
    return this.latest;
  }

  set heard(heard: Heard) {
    this.latest = heard;
    for (const listener of this.listeners) listener();
  }

  /** Asks WireGuard who was heard. */
  look(): Promise<void> {
    return this.deps.events.published({ type: "remote_asked", payload: null });
  }

  onHeard(listener: () => void): void {
    this.listeners.push(listener);
  }

  get link(): string {
    return this.deps.link;
  }

  get access(): Access | null {
    return this.state.access;
  }

  get peers(): readonly RemotePeer[] {
    return this.state.peers;
  }

  /** None while remote access is off. */
  get ids(): readonly Prefix[] {
    return this.access?.on === true ? this.peers.map(({ id }) => id) : [];
  }

  /** All that are known, whether they may come in now or not. */
  isKnown(id: string): boolean {
    return this.peers.some((peer) => peer.id === id) || this.reserved.has(id);
  }

  /** The device with this address, or null. */
  of(address: Address): Prefix | null {
    return this.ids.find((id) => this.addressesOf(id).includes(address)) ?? null;
  }

  addressesOf(id: Prefix): Address[] {
    return this.access === null ? [] : addressesOf(this.access, id);
  }

  /** Whether a network has addresses of theirs. */
  overlaps(prefix: Prefix): boolean {
    const networks = this.access === null ? [] : [this.access.ipv4, this.access.ipv6];
    return networks.some(
      (network) => contains(network, addressOf(prefix)) || contains(prefix, addressOf(network)),
    );
  }

  /** Reads them again, after the start or after another writer has changed the database. */
  load(): Promise<void> {
    this.state = this.stored();
    return this.apply();
  }

  /** Counts a device as known while it is being added or removed. */
  async whileReserved<T>(id: Prefix, work: () => Promise<T>): Promise<T> {
    this.reserved.add(id);
    try {
      return await work();
    } finally {
      this.reserved.delete(id);
    }
  }

  /** Resolves once the firewall and the routing rules have it. */
  async set(access: Access | null, peers: readonly RemotePeer[]): Promise<void> {
    this.state = { access, peers };
    await this.apply();
  }

  save(access: Access | null, peers: readonly RemotePeer[]): void {
    const { store } = this.deps;
    store.atomically(() => {
      REMOTE_PEERS.write(store, peers);
      if (access !== null) REMOTE_DECISION.write(store, access);
      else if (store.read(REMOTE_DECISION.key) !== null) store.forget(REMOTE_DECISION.key);
    });
  }

  private stored() {
    const { store } = this.deps;
    const access = REMOTE_DECISION.read(store);
    const peers = access === null ? [] : REMOTE_PEERS.read(store);
    // A restore may have brought another network.
    return { access, peers: peers.filter(({ id }) => access !== null && isWithin(id, access.ipv4)) };
  }

  private apply(): Promise<void> {
    const part = partOf(this.deps.link, this.access, this.peers);
    return this.deps.killSwitch.update(OWNER, part === null ? null : { remote: part });
  }
}
