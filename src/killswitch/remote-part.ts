import { type Address, addressOf, contains, overlap, type Prefix } from "../base/address.ts";

/** How remote devices come in, and what each of them may. */
export interface RemotePart {
  /** The interface from which their packets come. */
  interface: string;
  /** The UDP port of its socket. */
  port: number;
  /** The tunnel by which their WireGuard packets come and go; null for the uplink. */
  through: string | null;
  /** The gateway's own addresses on the interface. */
  addresses: readonly Address[];
  /** The networks of these addresses, and of the devices'; in a policy those of the homes, too. */
  networks: readonly Prefix[];
  devices: readonly RemoteDevicePart[];
  /** Other homes, whose gateways are peers of the same interface. Missing while none is linked. */
  homes?: readonly HomePart[];
}

/** Another home. WireGuard has proven that what comes from its addresses was sent by its gateway. */
export interface HomePart {
  name: string;
  /** The public key of its gateway: a tunnel to this peer leads to the home. */
  key: string;
  /** The id of the device as which it leaves here, if that is let in; null if it cannot leave here. */
  leavesAs: Prefix | null;
  /** Its network. */
  prefixes: readonly Prefix[];
  /** The addresses of the LAN's devices that it may reach. */
  reaches: readonly Address[];
}

interface RemoteDevicePart {
  id: Prefix;
  addresses: readonly Address[];
  /** Whether it may reach the LAN. */
  lan: boolean;
}

/** Between the zones of tunnels and those of the LAN's direct devices. */
export const FIRST_REMOTE_ZONE = 0x4000;

/** The zone of a device's connections while it is direct: each has a number of its own in the network of all. */
export function remoteZoneOf(id: Prefix): number {
  return FIRST_REMOTE_ZONE + Number(addressOf(id).split(".").at(-1));
}

export function isRemoteZone(zone: number): boolean {
  return zone >= FIRST_REMOTE_ZONE && zone < FIRST_REMOTE_ZONE + 0x100;
}

/** The same with the exit of each device. */
export interface RemoteWith<Exit> extends Omit<RemotePart, "devices"> {
  /** The keys of the gateways of all homes, those that are left out included. Missing while none is linked. */
  gateways?: readonly string[];
  devices: readonly (RemoteDevicePart & {
    exit: Exit;
    /** Whether it is the gateway of another home. */
    home?: true;
  })[];
}

/**
 * Each device has the exit that was decided for its id. A home is left out while something else has addresses of its
 * network, or a home before it: what is for that must not go to the home.
 */
export function remoteIn<Exit>(
  part: RemotePart,
  decided: readonly { prefix: Prefix; exit: Exit | null }[],
  defaultExit: Exit,
  isFree: (prefix: Prefix) => boolean,
): RemoteWith<Exit> {
  const exitOf = (id: Prefix) => decided.find(({ prefix }) => prefix === id)?.exit ?? defaultExit;
  const taken = [...part.networks];
  const linked = part.homes ?? [];
  const isHome = (id: Prefix) => linked.some(({ leavesAs }) => leavesAs === id);
  const homes = linked.filter(({ prefixes }) => {
    const isApart = prefixes.every((each) => isFree(each) && !taken.some((other) => overlap(other, each)));
    if (isApart) taken.push(...prefixes);
    return isApart;
  });
  return {
    ...part,
    ...(part.homes && { homes, gateways: linked.map(({ key }) => key) }),
    networks: taken,
    devices: part.devices.map((device) => ({
      ...device,
      exit: exitOf(device.id),
      ...(isHome(device.id) && { home: true }),
    })),
  };
}

/** The home with this address; undefined if none has it. */
export function homeAt(
  remote: Pick<RemotePart, "homes"> | undefined,
  address: Address,
): HomePart | undefined {
  return remote?.homes?.find(({ prefixes }) => prefixes.some((prefix) => contains(prefix, address)));
}

/** The device with this address; null if none has it, undefined if it is not from their networks. */
export function remoteAt<Exit>(
  remote: RemoteWith<Exit> | undefined,
  address: Address,
): RemoteWith<Exit>["devices"][number] | null | undefined {
  if (remote === undefined || !remote.networks.some((network) => contains(network, address)))
    return undefined;
  if (homeAt(remote, address) !== undefined) return undefined;
  return remote.devices.find(({ addresses }) => addresses.includes(address)) ?? null;
}
