import { type Address, contains, type Prefix } from "../base/address.ts";

/** How devices on the road come in, and what each of them may. */
export interface RemotePart {
  /** The interface from which their packets come. */
  interface: string;
  /** The UDP port of its socket. */
  port: number;
  /** The tunnel by which their WireGuard packets come and go; null for the uplink. */
  through: string | null;
  /** The gateway's own addresses on the interface. */
  addresses: readonly Address[];
  /** The networks of these addresses, and of the devices'. */
  networks: readonly Prefix[];
  devices: readonly RemoteDevicePart[];
}

interface RemoteDevicePart {
  id: Prefix;
  addresses: readonly Address[];
  /** Whether it may reach the LAN. */
  lan: boolean;
}

/** The same with the exit of each device. */
export interface RemoteWith<Exit> extends Omit<RemotePart, "devices"> {
  devices: readonly (RemoteDevicePart & { exit: Exit })[];
}

/** Each device has the exit that was decided for its id. */
export function remoteIn<Exit>(
  part: RemotePart,
  decided: readonly { prefix: Prefix; exit: Exit }[],
  defaultExit: Exit,
): RemoteWith<Exit> {
  const exitOf = (id: Prefix) => decided.find(({ prefix }) => prefix === id)?.exit ?? defaultExit;
  return { ...part, devices: part.devices.map((device) => ({ ...device, exit: exitOf(device.id) })) };
}

/** The device with this address; null if none has it, undefined if it is not from their networks. */
export function remoteAt<Exit>(
  remote: RemoteWith<Exit> | undefined,
  address: Address,
): RemoteWith<Exit>["devices"][number] | null | undefined {
  if (remote === undefined || !remote.networks.some((network) => contains(network, address)))
    return undefined;
  return remote.devices.find(({ addresses }) => addresses.includes(address)) ?? null;
}
