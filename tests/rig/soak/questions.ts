import type { Answer } from "../tools/lab.ts";
import type { Question } from "../tools/request.ts";

/** A request that changes nothing, and which answer to it is right. */
export interface Asked extends Question {
  isRight(answer: Answer): boolean;
}

/** Over the limit of 64 KiB. */
const TOO_LONG = JSON.stringify({ server: "x".repeat(70_000) });
const HOOK = JSON.stringify({ name: "hook", config: "[Interface]\nPostUp = reboot\n" });
const MAIN = JSON.stringify({ provider: "managed", server: "box-vpn-1" });
const DEVICE = "/api/devices/02:00:00:00:10:01";

/** All kinds of reads. */
export const READS: readonly Asked[] = [
  read("/api/status", "killswitch_active"),
  read("/api/status", "killswitch_active"),
  read("/api/providers", "providers"),
  read("/api/servers", "servers"),
  read("/api/tunnels", "tunnels"),
  read("/api/devices", "devices"),
  read("/api/devices/self", "address"),
  read("/api/events?limit=50", "events"),
  read("/api/keypair", "public_key"),
  read("/api/checks", "checks"),
  read("/swagger/json", "openapi"),
  page("/metrics", "portcullis_killswitch_active "),
  page("/swagger", "<html"),
  // While the kill switch is being repaired, it says so.
  {
    method: "GET",
    path: "/health",
    isRight: ({ status, body }) => (status === 200 ? body === "healthy" : status === 500 && body !== ""),
  },
];

/** What is refused in every state. */
export const REFUSED: readonly Asked[] = [
  refused(404, "GET", "/nothing"),
  refused(404, "GET", "/api/nothing"),
  refused(404, "DELETE", "/api/status"),
  refused(400, "GET", "/api/events?limit=0"),
  refused(400, "POST", "/api/connect", "{"),
  refused(400, "POST", "/api/connect", '{"server":5}'),
  refused(400, "POST", "/api/connect", '{"server":"box-vpn-1","server":"box-vpn-2"}'),
  refused(400, "POST", "/api/connect", TOO_LONG),
  { ...refused(400, "POST", "/api/connect", MAIN), type: "text/plain" },
  refused(404, "POST", "/api/connect", '{"server":"nowhere"}'),
  refused(400, "POST", "/api/provider/nobody"),
  refused(400, "PUT", "/api/tunnels/main", '{"provider":"nobody","server":"box-vpn-1"}'),
  refused(400, "DELETE", "/api/tunnels/main"),
  refused(404, "POST", "/api/tunnels/nothing/disconnect"),
  refused(400, "PUT", "/api/devices/nobody", '{"exit":"main"}'),
  refused(404, "PUT", DEVICE, '{"exit":"nowhere"}'),
  refused(400, "PUT", DEVICE, '{"exit":["main","main"]}'),
  refused(400, "PUT", DEVICE, '{"quota":{"megabytes":0,"every":"day"}}'),
  refused(400, "POST", "/api/connect", '{"server":"box-vpn-1","move_when":["slow"]}'),
  refused(400, "PUT", "/api/default-exit", '{"exit":"direct"}'),
  refused(400, "POST", "/api/custom/add", "{}"),
  refused(404, "DELETE", "/api/custom/remove/nothing"),
  refused(400, "POST", "/api/import", HOOK),
  refused(404, "DELETE", "/api/import/nothing"),
];

function read(path: string, field: string): Asked {
  return {
    method: "GET",
    path,
    isRight: ({ status, body }) => status === 200 && typeof body === "object" && field in body,
  };
}

function page(path: string, text: string): Asked {
  return {
    method: "GET",
    path,
    isRight: ({ status, body }) => status === 200 && typeof body === "string" && body.includes(text),
  };
}

function refused(expected: number, method: string, path: string, body?: string): Asked {
  return {
    ...{ method, path, ...(body !== undefined && { body }) },
    isRight: ({ status, body }) =>
      status === expected && body.success === false && typeof body.error === "string" && body.error !== "",
  };
}
