import { Elysia } from "elysia";
import { isLinkLocal, parseAddress } from "../base/address.ts";
import { AccountRequests } from "./account-requests.ts";
import { Bodies } from "./bodies.ts";
import { Clients } from "./clients.ts";
import { docsRoute } from "./docs.ts";
import type { Domain } from "./domain.ts";
import { answerTo } from "./errors.ts";
import { EventSockets } from "./event-sockets.ts";
import { followMessages } from "./messages.ts";
import { isSecure } from "./origin.ts";
import { type Next, type PipelineOptions, pipelineFor } from "./pipeline.ts";
import { register } from "./register.ts";
import { PAGES, routesOf } from "./routes.ts";
import { accessOf } from "./rules.ts";
import { refusalOverHttp } from "./secure-page.ts";
import { nativeRoutesOf, type Server, serve } from "./server.ts";
import { followTraffic } from "./traffic.ts";
import { Unread } from "./unread.ts";

export interface Options extends Omit<PipelineOptions, "https" | "clients" | "bodies" | "unread"> {
  /** The port at which HTTPS listens, or should; null if it is off. */
  https: number | null;
  /** Whether the routes of gluetun's control server are answered. */
  gluetun: boolean;
  /** The interface on which a link-local peer is connected; null if it is not known. */
  interfaceOf: (address: string, port: number) => Promise<string | null>;
}

export type App = ReturnType<typeof createApp>;

/** What belongs to the interface itself. */
type Made = "gate" | "accountRequests" | "eventSockets" | "serverOf" | "readings" | "clients" | "bodies";

/** The HTTP interface to a gateway; does not listen yet. */
export function createApp(gateway: Omit<Domain, Made>, options: Options) {
  const { gate, fault } = options;
  const source = {
    status: gateway.overview.status,
    follow: followMessages.bind(null, gateway.events),
    followTraffic: followTraffic.bind(null, gateway),
  };
  const eventSockets = new EventSockets(source, fault, gate.tokens);
  const servers: Record<"http" | "https", Server | null> = { http: null, https: null };
  const https = () => (options.https === null ? null : (servers.https?.port ?? "down"));
  const clients = new Clients((address, link) => gateway.devices.roster.senderAt(address, link));
  const bodies = new Bodies(clients);
  const serverOf = (request: Request) => servers[isSecure(request) ? "https" : "http"];
  const isUnderWay = (request: Request) => serverOf(request)?.requestIP(request) != null;
  const unread = new Unread(clients, isUnderWay);
  const pipeline = pipelineFor({ ...options, clients, bodies, unread, https });
  const app = new Elysia({
    strictPath: true,
    // A native static response would bypass the pipeline.
    nativeStaticResponse: false,
    // Without this, a one-letter Host makes every path 404.
    handler: { standardHostname: false },
  });
  app
    .wrap((next) => async (request: Request) => {
      const peer = await peerOf(serverOf(request)?.requestIP(request) ?? null, options);
      // Elysia's type says that `next` returns a function; in fact it is the handler of the request.
      return pipeline(request, peer, next as unknown as Next);
    })
    .onError({ as: "global" }, ({ error, request }) => answerTo(error, request, fault))
    // The route's own path, so that no other way to write it leads past what is private.
    .onBeforeHandle(
      { as: "global" },
      ({ request, route }) =>
        refusalOverHttp(request, route, { https }) ??
        gate.refusalOnceRead(request, accessOf(route)) ??
        undefined,
    );
  const routes = routesOf(options.gluetun);
  const accountRequests = new AccountRequests(
    gateway.accounts,
    () => gateway.updates.update(gateway.httpsClient.send, { force: false }),
    gateway.host,
  );
  register(app, [...routes, ...PAGES, docsRoute(routes)], {
    ...gateway,
    ...{ gate, accountRequests, serverOf, eventSockets, clients, bodies, readings: new Map() },
  });
  return { app, routes: nativeRoutesOf(app), eventSockets, servers };
}

/** The peer's address; a link-local one with its interface, because it is unique only on its link. */
async function peerOf(found: Bun.SocketAddress | null, { interfaceOf }: Options): Promise<string | null> {
  const address = parseAddress(found?.address ?? "");
  if (found === null || address === null || !isLinkLocal(address)) return found?.address ?? null;
  return `${found.address}%${(await interfaceOf(found.address, found.port)) ?? ""}`;
}

/** Listens for HTTP. Throws if the address is in use; port 0 means any free port. */
export function listen(
  app: App,
  hostname: string,
  port: number,
): { port: number; stop: () => Promise<void> } {
  const { server, port: listensAt } = serve(app, { hostname, port });
  app.servers.http = server;
  const stop = () => {
    app.eventSockets.stop();
    return server.stop(true);
  };
  return { port: listensAt, stop };
}
