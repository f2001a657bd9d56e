import { ROUTER_PROTOCOLS } from "../port-mapping/router-protocols.ts";
import { forwardText } from "../remote/endpoint.ts";
import type { RemoteStatus } from "../remote/schema.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** Whether remote devices can reach the home, as far as the gateway can know; null while remote access is off. */
export function remoteFinding({ on, endpoint, error, ways, by_hand, devices }: RemoteStatus): Finding | null {
  if (!on) return null;
  const enter = by_hand === null ? null : `In the home router, forward ${forwardText(by_hand)}.`;
  if (error !== null) return fault(`no device can come in: ${error}`, enter ?? STATE);
  const called = `devices call ${endpoint}`;
  const open = ways.find(({ state }) => state === "open");
  if (open !== undefined) {
    const by =
      open.protocol === null
        ? ""
        : `, which the home router opens by ${ROUTER_PROTOCOLS[open.protocol].title}`;
    if (open.endpoint === endpoint) return ok(`${called}${by}`);
    return ok(`${called}; open is ${open.endpoint}${by}`);
  }
  if (devices.some(({ latest_handshake }) => latest_handshake !== null))
    return ok(`${called}, and one has come in since remote access began`);
  const why = ways.flatMap((way) => way.error ?? [])[0];
  const found = `${called}; whether that leads here cannot be seen${why === undefined ? "" : `: ${why}`}`;
  return warning(found, enter ?? THROUGH);
}

const STATE = "See: portcullis remote";
const THROUGH =
  "Try it with a device outside your home. The VPN provider must forward that port to the tunnel.";
