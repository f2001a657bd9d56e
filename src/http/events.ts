import { Type } from "typebox";
import { answer, Refusal, UNAUTHORIZED } from "./answers.ts";
import { refusal } from "./errors.ts";
import type { SocketData } from "./event-sockets.ts";
import { carriesToken, PROTOCOL, protocolsOf } from "./gate.ts";
import { refused } from "./refusals.ts";
import { route } from "./route.ts";

/**
 * `/ws` is a GET like any other up to the upgrade, so that the pipeline and the error handling apply to it too.
 * (Elysia's own `.ws` hides the upgrade from both.)
 */
export const eventRoute = route({
  method: "get",
  path: "/ws",
  id: "listenToEvents",
  summary: "Listen to events",
  description: "A WebSocket that sends each change as it happens, and which answers it makes stale.",
  tag: "Events",
  // Other parameters are ignored.
  query: Type.Object({
    traffic: Type.Optional(
      Type.Any({ description: "`/ws?traffic`: the socket gets the event `traffic` too", example: "" }),
    ),
  }),
  answers: {
    400: answer(Refusal, "the subprotocol portcullis is not offered beside that of the token"),
    401: answer(Refusal, UNAUTHORIZED),
    403: answer(Refusal, "from outside the local network, or opened by a page of another site"),
    426: answer(Refusal, "not a WebSocket handshake"),
    429: answer(Refusal, "this client has too many sockets open"),
    503: answer(Refusal, "too many sockets are open"),
  },
  run: ({ eventSockets, gate, clients, serverOf }, { request, query }) => {
    const server = serverOf(request);
    if (server === null || !isHandshake(request.headers)) return NOT_A_HANDSHAKE();
    const protocols = protocolsOf(request.headers);
    if (protocols.some(carriesToken) && !protocols.includes(PROTOCOL)) return WITHOUT_PROTOCOL();
    const client = clients.of(request);
    const full = eventSockets.refusalFor(client);
    if (full !== null) return FULL[full]();
    const token = gate.holderOf(request)?.id ?? null;
    const data: SocketData = { client, traffic: query.traffic !== undefined, token };
    // Otherwise Bun chooses the first one, which may have the token in it.
    const headers = protocols.includes(PROTOCOL) ? { "Sec-WebSocket-Protocol": PROTOCOL } : {};
    if (!server.upgrade(request, { data, headers })) return NOT_A_HANDSHAKE();
    // Bun has already sent a 101 of its own; this one is only for the log.
    return new Response(null, { status: 101 });
  },
});

/** RFC 6455, section 4.2.1. Bun would answer anything else with a body of its own, or with none. */
function isHandshake(headers: Headers): boolean {
  return (
    headers.get("upgrade")?.toLowerCase() === "websocket" &&
    headers.get("sec-websocket-version") === "13" &&
    /^[A-Za-z0-9+/]{22}==$/.test(headers.get("sec-websocket-key") ?? "")
  );
}

const NOT_A_HANDSHAKE = () =>
  refusal(426, refused("not_a_handshake"), {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
  });

const WITHOUT_PROTOCOL = () => refusal(400, refused("protocol_missing", { protocol: PROTOCOL }));

const FULL = {
  client: () => refusal(429, refused("too_many_sockets", { of: "client" }), { "Retry-After": "60" }),
  all: () => refusal(503, refused("too_many_sockets", { of: "all" }), { "Retry-After": "60" }),
};
