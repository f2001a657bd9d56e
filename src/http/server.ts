import type { AnyElysia } from "elysia";
import { createBunRouteHandler } from "elysia/adapter/bun/compose";
import { boundSendBuffers } from "../system/listening-socket.ts";
import type { EventSockets, SocketData } from "./event-sockets.ts";

export type Server = Bun.Server<SocketData>;
export type NativeRoutes = Record<string, Record<string, (request: Request) => Promise<Response>>>;

interface Served {
  app: AnyElysia;
  routes: NativeRoutes;
  eventSockets: Pick<EventSockets, "handlers" | "start">;
}

/** A connect may wait for another connect's handshake before its own; Bun counts that as idle. */
const IDLE_SECONDS = 60;
/**
 * Of one connection, in the kernel. Without it the kernel takes up to 4 MiB for each client that does not read, and one turn of
 * the event loop copies as much for each one that does.
 */
const SEND_BUFFER_BYTES = 65_536;

/**
 * Starts to listen; throws if the address is in use. Port 0 means any free port. Elysia's own `listen` builds all routes twice
 * each time, knows one server only, and parses what clients send over WebSockets.
 */
export function serve(
  { app, routes, eventSockets }: Served,
  where: { hostname: string; port: number; tls?: Bun.TLSOptions },
): { server: Server; port: number } {
  const server = Bun.serve<SocketData>({
    ...where,
    development: false,
    // Two gateways on one port would share the requests between them.
    reusePort: false,
    // Bun answers a body over its limit with an empty 413 before any hook runs; the limit is in `body.ts`.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: IDLE_SECONDS,
    websocket: eventSockets.handlers,
    // It answers what is none of the routes. Elysia makes it when it is first read, which no start waits for.
    fetch: (request) => app.fetch(request),
    routes,
  });
  const { port } = server;
  if (port === undefined) throw new Error("the HTTP server is not listening");
  boundSendBuffers(port, SEND_BUFFER_BYTES);
  eventSockets.start(server);
  return { server, port };
}

/** The routes as Bun finds them. Each is compiled when it is first asked for. */
export function nativeRoutesOf(app: AnyElysia): NativeRoutes {
  const routes: NativeRoutes = {};
  for (const route of app.router.history) {
    const path = encodeURI(route.path);
    let compiled: ((request: Request) => Promise<Response>) | null = null;
    routes[path] = {
      ...routes[path],
      [route.method]: (request) => {
        compiled ??= createBunRouteHandler(app, route) as (request: Request) => Promise<Response>;
        return compiled(request);
      },
    };
  }
  return routes;
}
