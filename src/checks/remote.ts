import { ROUTER_PROTOCOLS } from "../port-mapping/router-protocols.ts";
import type { HomeCircle } from "../remote/homes.ts";
import type { HomeLink, RemoteStatus } from "../remote/schema.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

type Link = Pick<HomeLink, "name" | "state" | "error" | "endpoint" | "latest_handshake">;

/**
 * Whether remote devices can reach the home, as far as the gateway can know; null while remote access is off, or if it only
 * calls other homes.
 */
export function remoteFinding(
  { on, endpoint, error, ways, by_hand, devices }: RemoteStatus,
  links: readonly Link[] = [],
  circles: readonly HomeCircle[] = [],
): Finding | null {
  if (!on) return null;
  const onlyCalls = devices.length === 0 && links.length > 0 && links.every((link) => link.endpoint !== null);
  const inLinks = linksFinding(links, circles);
  if (onlyCalls) return inLinks;
  const enter = { port: by_hand?.port ?? 0, to: by_hand?.to ?? "unknown", to_port: by_hand?.to_port ?? 0 };
  if (error !== null) return fault("remote_closed", { reason: error, ...enter });
  if (inLinks !== null) return inLinks;
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

/** The first link by which nothing passes. One that was never heard may still wait for its code. */
function linksFinding(links: readonly Link[], circles: readonly HomeCircle[]): Finding | null {
  const [circle] = circles;
  const closed = links.find(
    ({ name, error }) => error !== null && circles.every(({ home }) => home !== name),
  );
  if (closed !== undefined)
    return warning("remote_link_closed", { home: closed.name, reason: closed.error ?? "" });
  if (circle !== undefined) return warning("remote_link_circle", { ...circle });
  const silent = links.find((link) => link.state === "down" && link.latest_handshake !== null);
  return silent === undefined ? null : warning("remote_link_silent", { home: silent.name });
}
