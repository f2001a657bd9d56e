import { ROUTER_PROTOCOLS } from "../port-mapping/router-protocols.ts";
import type { HomeLink, RemoteStatus } from "../remote/schema.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/**
 * Whether remote devices can reach the home, as far as the gateway can know; null while remote access is off, or if it only
 * calls other homes.
 */
export function remoteFinding(
  { on, endpoint, error, ways, by_hand, devices }: RemoteStatus,
  links: readonly Pick<HomeLink, "endpoint">[] = [],
): Finding | null {
  const onlyCalls = devices.length === 0 && links.length > 0 && links.every((link) => link.endpoint !== null);
  if (!on || onlyCalls) return null;
  const enter = { port: by_hand?.port ?? 0, to: by_hand?.to ?? "unknown", to_port: by_hand?.to_port ?? 0 };
  if (error !== null) return fault("remote_closed", { reason: error, ...enter });
  const called = { endpoint: endpoint ?? "" };
  const open = ways.find(({ state }) => state === "open");
  if (open !== undefined) {
    const protocol = open.protocol === null ? "none" : ROUTER_PROTOCOLS[open.protocol].title;
    if (open.endpoint === endpoint) return ok("remote", { ...called, protocol });
    return ok("remote_elsewhere", { ...called, open: open.endpoint ?? "", protocol });
  }
  if (devices.some(({ latest_handshake }) => latest_handshake !== null)) return ok("remote_used", called);
  const [why] = ways.flatMap((way) => way.error ?? []);
  return why === undefined
    ? warning("remote_unseen", { ...called, ...enter })
    : warning("remote_unopened", { ...called, ...enter, reason: why });
}
