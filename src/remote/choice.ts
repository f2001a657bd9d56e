import type { Prefix } from "../base/address.ts";
import type { Devices } from "../devices/devices.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { randomUla } from "../network/ula.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { endpointIn } from "./endpoint.ts";
import { chosenNetworks, type Networks } from "./networks.ts";
import { refused } from "./refusals.ts";
import type { Access } from "./saved.ts";
import type { RemoteChoice } from "./schema.ts";

interface Deps {
  killSwitch: Pick<KillSwitch, "wayTo">;
  devices: Pick<Devices, "roster">;
  tunnels: Pick<Tunnels, "named">;
  /** The installation's unique local prefix, or null. */
  ula: string | null;
}

/** WireGuard's usual port. */
const DEFAULT_PORT = 51_820;

/**
 * What the operator decides by `portcullis remote on`. The port and the networks stay as they were. Without a port, the
 * provider of a tunnel is asked for one.
 */
export function accessFor(choice: RemoteChoice, before: Access | null, deps: Deps): Access {
  const { port, endpoint, through } = choice;
  if (through !== null) deps.tunnels.named(through, "through");
  const chosen = port ?? before?.port ?? DEFAULT_PORT;
  if (!Number.isInteger(chosen) || chosen < 1 || chosen > 65_535) throw refused("port_invalid");
  const { ipv4, ipv6 } = before ?? freeNetworks(deps);
  const isAsked = through !== null && port === null;
  return {
    on: true,
    port: chosen,
    endpoint: endpoint === null ? null : endpointIn(endpoint, chosen),
    through,
    ...(isAsked && { forwarded: { external: before?.forwarded?.external ?? null } }),
    ipv4,
    ipv6,
  };
}

function freeNetworks({ killSwitch, ula, devices }: Deps): Networks {
  const isFree = (prefix: Prefix) =>
    killSwitch.wayTo(prefix).overlap === null &&
    killSwitch.wayTo(prefix).interfaces.length === 0 &&
    !devices.roster.hasPrefixIn(prefix);
  const found = chosenNetworks(ula ?? randomUla(), isFree);
  if (found !== null) return found;
  throw refused("remote_networks_taken");
}
