import type { Reason } from "../base/reason.ts";
import type { Devices } from "../devices/devices.ts";
import { formatEndpoint } from "../wireguard/config-text.ts";
import type { InterfacePeer } from "../wireguard/interface.ts";
import type { RemoteDevices } from "./devices.ts";
import type { Endpoint } from "./endpoint.ts";
import type { RemotePeer } from "./saved.ts";
import type { ByHand, EntryPoint, RemoteDevice, RemoteStatus } from "./schema.ts";

interface Seen {
  remote: RemoteDevices;
  devices: Pick<Devices, "nameOf" | "exitOf" | "roster">;
  endpoint: Endpoint | null;
  /** The gateway's public key; null if it has none yet. */
  publicKey: string | null;
  /** Why no device can come in, or null. */
  fault: Reason | null;
  ways: readonly EntryPoint[];
  byHand: ByHand | null;
  /** As WireGuard knows them. */
  peers: readonly InterfacePeer[];
}

/** Remote access as clients see it. */
export function statusOf(seen: Seen): RemoteStatus {
  const { remote, endpoint, publicKey, fault, ways, byHand } = seen;
  const { access } = remote;
  const isOn = access?.on === true;
  return {
    on: isOn,
    port: access?.port ?? null,
    interface: remote.link,
    public_key: publicKey,
    through: access?.through ?? null,
    endpoint: endpoint === null ? null : formatEndpoint(endpoint.host, endpoint.port),
    ...((isOn ? fault : null) ?? { error: null }),
    ways: isOn ? [...ways] : [],
    by_hand: isOn ? byHand : null,
    devices: remote.peers.map((peer) => rowOf(peer, seen)),
  };
}

function rowOf({ id, public_key, lan }: RemotePeer, { devices, remote, peers }: Seen): RemoteDevice {
  const peer = peers.find(({ publicKey }) => publicKey === public_key);
  return {
    id,
    name: devices.nameOf(id) ?? "",
    addresses: remote.addressesOf(id),
    public_key,
    exit: devices.exitOf(id),
    lan,
    online: devices.roster.isOnline(id),
    endpoint: peer?.endpoint?.address ?? null,
    latest_handshake: timeOf(peer?.latestHandshake ?? 0),
    rx_bytes: peer?.txBytes ?? 0,
    tx_bytes: peer?.rxBytes ?? 0,
  };
}

function timeOf(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString();
}
