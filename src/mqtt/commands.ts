import type { Devices } from "../devices/devices.ts";
import type { BlockLists } from "../dns/block-lists.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { ConnectRequest, ConnectRequests } from "../tunnel/connect-requests.ts";
import type { PastConnections } from "../tunnel/past-connections.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { refused } from "./refusals.ts";
import { GATEWAY, type Key, listKey, networkKey, tunnelKey } from "./topics.ts";

/** The parts that Home Assistant may change. They check their input. */
export interface Commanded {
  connects: Pick<ConnectRequests, "connect">;
  past: Pick<PastConnections, "last" | "recent">;
  tunnels: Pick<Tunnels, "main">;
  devices: Pick<Devices, "assign" | "setDefaultExit" | "networks">;
  blockLists: Pick<BlockLists, "pause" | "list" | "turn">;
}

/** Carries out a command; `deviceOf` returns the id of a device that Home Assistant knows. */
export async function carryOut(
  gateway: Commanded,
  deviceOf: (key: Key) => string | null,
  { key, command, payload }: { key: Key; command: string; payload: string },
): Promise<void> {
  const device = deviceOf(key);
  if (device !== null && command === "exit") return gateway.devices.assign(device, { exit: payload });
  const { networks } = gateway.devices;
  const network = networks.list().networks.find((each) => networkKey(each.interface) === key);
  if (network !== undefined && command === "exit") return networks.set(network.interface, { exit: payload });
  const list = gateway.blockLists.list().lists.find(({ url }) => listKey(url) === key);
  if (list !== undefined && command === "on") return gateway.blockLists.turn(list.url, isOn(payload));
  switch (`${key}/${command}`) {
    case `${GATEWAY}/exit`:
      return gateway.devices.setDefaultExit(payload);
    case `${GATEWAY}/block_lists`:
      // For the usual time, after which they block again by themselves.
      return gateway.blockLists.pause(isOn(payload) ? 0 : undefined);
    case `${tunnelKey(MAIN)}/server`:
      return gateway.connects.connect({ server: payload });
    case `${tunnelKey(MAIN)}/connection`:
      return turn(gateway, payload);
    default:
      throw refused("command_unknown");
  }
}

async function turn(gateway: Commanded, payload: string): Promise<void> {
  if (isOn(payload)) return gateway.connects.connect(lastOf(gateway));
  return gateway.tunnels.main.controller.disconnect();
}

function isOn(payload: string): boolean {
  if (payload === "ON" || payload === "OFF") return payload === "ON";
  throw refused("payload_invalid");
}

/** Where `main` led last, or before that if nothing of it is left. */
function lastOf({ past }: Commanded): ConnectRequest {
  const last = past.last(MAIN);
  if (last !== null) return last;
  const [recent] = past.recent();
  if (recent === undefined) throw refused("never_connected");
  const { at: _, ...target } = recent;
  return target;
}
