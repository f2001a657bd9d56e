import { GatewayError } from "../base/errors.ts";
import type { Gateway } from "../http/gateway.ts";
import { MAIN } from "../killswitch/policy.ts";
import { GATEWAY, type Key, tunnelKey } from "./topics.ts";

/** The calls of the HTTP interface that Home Assistant may make; they check what they are given. */
export type Commanded = Pick<
  Gateway,
  "connect" | "disconnect" | "favourites" | "assignDevice" | "setDefaultExit"
>;

/** Carries out a command; `deviceOf` returns the id of a device that Home Assistant knows. */
export async function carryOut(
  gateway: Commanded,
  deviceOf: (key: Key) => string | null,
  { key, command, payload }: { key: Key; command: string; payload: string },
): Promise<void> {
  const device = deviceOf(key);
  if (device !== null && command === "exit") return gateway.assignDevice(device, { exit: payload });
  switch (`${key}/${command}`) {
    case `${GATEWAY}/exit`:
      return gateway.setDefaultExit(payload);
    case `${tunnelKey(MAIN)}/server`:
      return gateway.connect({ server: payload });
    case `${tunnelKey(MAIN)}/connection`:
      return turn(gateway, payload);
    default:
      throw new GatewayError("not_found", "there is no such command");
  }
}

async function turn(gateway: Commanded, payload: string): Promise<void> {
  switch (payload) {
    case "ON":
      return gateway.connect(lastOf(gateway));
    case "OFF":
      await gateway.disconnect();
      return;
    default:
      throw new GatewayError("bad_request", "the payload must be ON or OFF");
  }
}

/** Where `main` was connected last. */
function lastOf(gateway: Commanded) {
  const [last] = gateway.favourites().recent;
  if (last === undefined)
    throw new GatewayError("bad_request", "the tunnel has never been connected: choose a server first");
  const { provider, server, via } = last;
  return { provider, server, ...(via !== undefined && { via }) };
}
