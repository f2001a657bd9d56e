import type { Mac } from "../base/mac.ts";
import { exitKindOf } from "../shared/exits.ts";
import { STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import { carriedBy } from "../tunnel/state.ts";
import type { Tunnel } from "../tunnel/tunnel.ts";
import type { ForwardPath } from "./port-lease.ts";

interface Seen {
  device: Mac;
  /** The device's exit: the name of a tunnel, `blocked` or `direct`. */
  exit: string;
  /** Whether an address of the device on the LAN is known. */
  isKnown: boolean;
}

/**
 * Where the ports of a device are opened: at the tunnel by which it leaves, because its replies go through that one.
 */
export function placeOf({ device, exit, isKnown }: Seen, tunnels: readonly Tunnel[]): ForwardPath {
  if (exitKindOf(exit) !== "tunnel")
    return closed(
      `the device's exit is ${exit}, and ports are opened at the server of a tunnel; to give it one: portcullis device ${device} exit main`,
    );
  const controller = tunnels.find(({ name }) => name === exit)?.controller;
  if (controller === undefined)
    return closed(`the device's exit is the ${tunnelTitle(exit)}, which does not exist`);
  const session = carriedBy(controller.state);
  const way = session === null ? null : { tunnel: exit, session };
  const { name } = controller.state;
  if (!controller.isAlive)
    return { way, why: `the ${tunnelTitle(exit)} ${STATE_WORDS[name]}; the port opens once it is connected` };
  return { way, why: isKnown ? null : UNSEEN };
}

const UNSEEN = "the device was not seen on the LAN yet; the port opens as soon as it is";

function closed(why: string): ForwardPath {
  return { way: null, why };
}
