import { type Address, isWithin, overlap, type Prefix, parsePrefix } from "../base/address.ts";
import type { Bus } from "../base/bus.ts";
import { Decision, effectBy } from "../base/decision.ts";
import type { Mac } from "../base/mac.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { HomePart } from "../killswitch/remote-part.ts";
import { HOMES, type Home, type LinkedHome, linkedIn } from "./home-record.ts";
import { type Access, addressesOf, partOf, REMOTE_DECISION, REMOTE_PEERS, type RemotePeer } from "./saved.ts";

interface RemoteStorage {
  read(key: string): string | null;
  write(key: string, value: string): void;
  forget(key: string): void;
  atomically(work: () => void): void;
  scrub(): void;
}

interface Deps {
  store: RemoteStorage;
  killSwitch: { update(owner: string, part: PolicyPart | null): Promise<void> };
  events: Pick<Bus<RemoteEvents>, "published">;
  /** The interface from which their packets come. */
  link: string;
}

export interface RemoteEvents {
  /** A caller wants to know which devices were heard, as of now. */
  remote_asked: null;
}

/** The owner of remote access in the kill switch; never a tunnel's name. */
const OWNER = "REMOTE";

/** What people have decided about remote devices. */
export interface Decided {
  access: Access | null;
  peers: readonly RemotePeer[];
  homes: readonly Home[];
}

/** When a device was heard, on the monotone clock. */
type Heard = ReadonlyMap<Prefix, number>;

/** The remote devices, in the database and in the kill switch. */
export class RemoteDevices {
  readonly decision: Decision<Decided>;
  private readonly permit: (decided: Decided) => Promise<void>;
  private latest: Heard = new Map();
  private readonly listeners: (() => void)[] = [];
  /** Makes the interface as it was decided; set by its owner. */
  settle: () => Promise<void> = async () => {};
  /** The addresses that a device of the LAN has now; set by its owner. */
  addressesAtHome: (device: Mac) => readonly Address[] = () => [];
  private readonly reserved = new Set<string>();
  private owners: { decided: Decided; byAddress: ReadonlyMap<Address, Prefix> } | null = null;

  constructor(private readonly deps: Deps) {
    const { store, killSwitch, link } = deps;
    const partIn = ({ access, peers, homes }: Decided) =>
      partOf(
        link,
        access,
        peers,
        linkedIn(homes).map((home) => homePart(home, (device) => this.addressesAtHome(device))),
      );
    this.permit = (decided) => {
      const part = partIn(decided);
      return killSwitch.update(OWNER, part === null ? null : { remote: part });
    };
    this.decision = new Decision({
      store,
      read: () => decidedIn(store),
      write: (_, decided) => save(store, decided),
      parts: [
        {
          of: partIn,
          apply: this.permit,
          effect: effectBy(permitted),
        },
        { apply: () => this.settle(), effect: effectBy(permitted), follows: true },
      ],
      secrets: ({ peers }) => peers.flatMap(({ preshared_key }) => preshared_key ?? []),
    });
  }

  get heard(): Heard {
    return this.latest;
  }

  set heard(heard: Heard) {
    this.latest = heard;
    for (const listener of this.listeners) listener();
  }

  /** Asks WireGuard which devices were heard. */
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
    return this.decision.value.access;
  }

  get peers(): readonly RemotePeer[] {
    return this.decision.value.peers;
  }

  get homes(): readonly Home[] {
    return this.decision.value.homes;
  }

  /** To be called when devices of the LAN may have other addresses. */
  addressesChanged(): Promise<void> {
    return this.decision.between(() => this.permit(this.decision.value));
  }

  /** None while remote access is off. */
  get ids(): readonly Prefix[] {
    return this.access?.on === true ? this.peers.map(({ id }) => id) : [];
  }

  /** All that are known, whether they may come in now or not. */
  isKnown(id: string): boolean {
    return this.peers.some((peer) => peer.id === id) || this.reserved.has(id);
  }

  /** The device with this address, or null. Asked for each query and each counter. */
  of(address: Address): Prefix | null {
    const { value } = this.decision;
    if (this.owners?.decided !== value) {
      const pairs = this.ids.flatMap((id) => this.addressesOf(id).map((each) => [each, id] as const));
      this.owners = { decided: value, byAddress: new Map(pairs) };
    }
    return this.owners.byAddress.get(address) ?? null;
  }

  addressesOf(id: Prefix): Address[] {
    return this.access === null ? [] : addressesOf(this.access, id);
  }

  /** Whether a network has addresses of theirs. */
  overlaps(prefix: Prefix): boolean {
    const own = this.access === null ? [] : [this.access.ipv4, this.access.ipv6];
    const networks = [...own, ...this.homes.flatMap(({ prefixes }) => prefixes)];
    return networks.some((network) => overlap(network, prefix));
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
}

function decidedIn(store: RemoteStorage): Decided {
  const access = REMOTE_DECISION.read(store);
  if (access === null) return { access, peers: [], homes: [] };
  // A restore may have brought another network, where a number is another device's.
  const isOurs = (id: Prefix | null) => id !== null && isWithin(id, access.ipv4);
  const peers = REMOTE_PEERS.read(store).filter(({ id }) => isOurs(id));
  // It may have brought a home whose address is a device's here: who ends the one would end the other.
  const isOthers = ({ id, public_key }: Exit) =>
    peers.some((peer) => peer.id === id && peer.public_key !== public_key);
  const kept = new Set<string>();
  const homes = HOMES.read(store).map((home) => {
    const { exit } = home;
    if (exit === null) return home;
    if (!isOurs(parsePrefix(exit.id)) || isOthers(exit) || kept.has(exit.id)) return { ...home, exit: null };
    kept.add(exit.id);
    return home;
  });
  return { access, peers, homes };
}

type Exit = NonNullable<Home["exit"]>;

function save(store: RemoteStorage, { access, peers, homes }: Decided): void {
  REMOTE_PEERS.write(store, peers);
  if (homes.length > 0 || store.read(HOMES.key) !== null) HOMES.write(store, homes);
  if (access !== null) REMOTE_DECISION.write(store, access);
  else if (store.read(REMOTE_DECISION.key) !== null) store.forget(REMOTE_DECISION.key);
}

function homePart(
  { name, public_key, exit, prefixes, devices }: LinkedHome,
  addressesOf: (device: Mac) => readonly Address[],
): HomePart {
  return {
    ...{ name, key: public_key, prefixes },
    leavesAs: exit === null ? null : parsePrefix(exit.id),
    reaches: devices.flatMap(addressesOf),
  };
}

/** Where devices and other homes may come in, which ones, and what each may reach. */
function permitted({ access, peers, homes }: Decided): string[] {
  const ways = access?.on === true ? [`${access.through} ${access.port} ${access.ipv4} ${access.ipv6}`] : [];
  return [
    ...ways,
    ...peers.flatMap(({ id, public_key, lan }) => [`${id} ${public_key}`, ...(lan ? [`${id} lan`] : [])]),
    ...linkedIn(homes).flatMap(({ public_key, prefixes, devices }) =>
      [...prefixes, ...devices].map((each) => `${public_key} ${each}`),
    ),
  ];
}
