import { Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { Provider, Quantum, Transport } from "../servers/schema.ts";
import { BACK_MINUTES, MAX_BACK_MINUTES, MAX_TARGETS } from "../shared/bounds.ts";
import { ASKED_TEXT } from "../transports/texts.ts";
import type { ConnectRequest } from "../tunnel/connect-requests.ts";
import { MoveWhen } from "../tunnel/order.ts";
import { Status } from "../tunnel/schema.ts";
import { answers, DONE } from "./answers.ts";
import type { Domain } from "./domain.ts";
import { route } from "./route.ts";
import { Disconnected, TunnelRows } from "./schema.ts";

export const SERVER_EXAMPLE = "box-vpn-1";

export const statusRoute = route({
  method: "get",
  path: "/api/status",
  id: "getStatus",
  summary: "Read the status of the tunnel main",
  description: "The state of the tunnel `main`, and whether the kernel has the kill switch in place.",
  tag: "Tunnels",
  answers: answers(Status, "the current state of the tunnel and the kill switch"),
  run: ({ overview }) => overview.status(),
});

const DESCRIPTION =
  "Hostname of a server of the current provider. Or a country or a city, spelled as in /api/servers, or both as " +
  "`City, Country`: the round trips of a few servers there are measured with WireGuard handshakes, and the nearest " +
  "is used. Measurements are valid for ten minutes. If the tunnel already leads to the place, nothing changes.";

/** As in the body of the requests that connect a tunnel. */
const Via = Type.Optional(
  Type.String({
    minLength: 1,
    description:
      "Two hops: the server through which `server` is reached, or a country or a city whose nearest server is used for " +
      "it. Both are of the same provider, and the list has to say `multihop` of `server`. Without it, `server` is " +
      "reached directly.",
  }),
);

/** As in the body of the requests that connect a tunnel. */
const How = Type.Optional(
  Type.Union(Transport.anyOf, {
    description: ASKED_TEXT,
  }),
);

/** As in the body of the requests that connect a tunnel. */
const Keys = Type.Optional(
  Type.Union(Quantum.anyOf, {
    description:
      "Whether the tunnel's keys are made safe from quantum computers, which one day can read what is recorded today. The " +
      "server has to be one of Mullvad's. `on` goes on without such keys if it has none now; with `require`, the tunnel " +
      "carries nothing without. It is kept until another one is asked for: without it, it is as before, at first `off`.",
  }),
);

/** One of several targets in these bodies. */
export const ConnectTarget = objectOf({
  server: Type.String({ minLength: 1 }),
  provider: Type.Optional(Provider),
  via: Via,
  transport: How,
});

/** As in the body of the requests that connect a tunnel. */
const Targets = Type.Optional(
  Type.Array(ConnectTarget, {
    minItems: 1,
    maxItems: MAX_TARGETS,
    description:
      "Instead of `server`, `via` and `transport`: several targets, the best first. The first that works is taken. If it " +
      "dies later, the others are tried in this order. Without `provider`, a target is of the current one.",
  }),
);

/** As in the body of the requests that connect a tunnel. */
const RULES = {
  back_after_minutes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_BACK_MINUTES,
      description: `With targets: how long after a move a better target is tried again, beside the live tunnel, and each time after that. 0 is never. Without it: ${BACK_MINUTES}.`,
    }),
  ),
  back_when_quiet: Type.Optional(
    Type.Boolean({
      description:
        "With targets: try it only once the tunnel has carried little for a minute. Without it: false.",
    }),
  ),
  move_when: Type.Optional(
    Type.Array(MoveWhen, {
      maxItems: 2,
      uniqueItems: true,
      description:
        "With targets: leave one not only when it is dead, but also when the tunnel's `quality` is `slow` or `lossy` there, once another one answers beside it. Without it: only when it is dead.",
    }),
  ),
};

const HOW = { via: Via, transport: How, targets: Targets, ...RULES, quantum: Keys };

/** POST /api/connect. */
export const MainConnect = objectOf({
  server: Type.Optional(Type.String({ minLength: 1, description: DESCRIPTION })),
  ...HOW,
});

/** PUT /api/tunnels/:name. */
export const TunnelConnect = objectOf({
  provider: Type.Optional(Provider),
  server: Type.Optional(
    Type.String({
      minLength: 1,
      description: "as in /api/connect, but of `provider` if one is given",
    }),
  ),
  ...HOW,
});

/** With several targets, each may take 26 s. */
const ANSWER_WITHIN_SECONDS = 255;

function connected({ connects, serverOf }: Domain, request: Request, body: ConnectRequest, name?: string) {
  if (body.targets !== undefined) serverOf(request)?.timeout(request, ANSWER_WITHIN_SECONDS);
  return connects.connect(body, name);
}

const params = { name: Type.String({ example: "tv" }) };

export const tunnelRoutes = [
  route({
    method: "post",
    path: "/api/connect",
    id: "connect",
    summary: "Connect main to a server or to a place",
    description:
      "The answer comes once the handshake with the server has succeeded. If it does not succeed, the previous tunnel stays up. Of a country or a city, the nearest server is used.",
    tag: "Tunnels",
    body: MainConnect,
    example: { server: SERVER_EXAMPLE },
    answers: DONE,
    limit: "connection",
    run: (domain, { body, request }) => connected(domain, request, body),
  }),
  route({
    method: "post",
    path: "/api/disconnect",
    id: "disconnect",
    summary: "Disconnect main",
    description: "With the kill switch, devices then have no internet. `message` says so.",
    tag: "Tunnels",
    answers: answers(Disconnected, "there is no tunnel, whether or not there was one before"),
    limit: "connection",
    run: async ({ tunnels }) => {
      await tunnels.main.controller.disconnect();
      const message = tunnels.killSwitch.isWanted
        ? "Disconnected - No internet (kill switch active)"
        : "Disconnected";
      return { success: true as const, message };
    },
  }),
  route({
    method: "get",
    path: "/api/tunnels",
    id: "listTunnels",
    summary: "List the tunnels",
    description:
      "`main` first, then by name. Fields that `/api/status` has too mean the same, for each tunnel.",
    tag: "Tunnels",
    answers: answers(TunnelRows, "all tunnels, `main` first, then by name"),
    run: async ({ overview }) => ({ tunnels: await overview.rows() }),
  }),
  route({
    method: "put",
    path: "/api/tunnels/:name",
    id: "connectTunnel",
    summary: "Connect a tunnel",
    description:
      "To a server, or to the nearest one of a country or a city. A tunnel that does not exist is made. The answer comes once the handshake with the server has succeeded; if it does not, an existing tunnel keeps its server.",
    tag: "Tunnels",
    params,
    body: TunnelConnect,
    example: { provider: "managed", server: "box-vpn-2" },
    answers: DONE,
    limit: "connection",
    run: (domain, { params, body, request }) => connected(domain, request, body, params.name),
  }),
  route({
    method: "post",
    path: "/api/tunnels/:name/disconnect",
    id: "disconnectTunnel",
    summary: "Disconnect a tunnel",
    description:
      "Its devices are blocked until it is connected again, unless they have another exit in their order.",
    tag: "Tunnels",
    params: { name: Type.String({ example: "main" }) },
    answers: DONE,
    limit: "connection",
    run: ({ tunnels }, { params }) => tunnels.named(params.name).controller.disconnect(),
  }),
  route({
    method: "delete",
    path: "/api/tunnels/:name",
    id: "removeTunnel",
    summary: "Remove a tunnel",
    description: "Refused for `main`, and for the exit of a device or of a rule.",
    tag: "Tunnels",
    params,
    answers: DONE,
    limit: "connection",
    run: ({ tunnels }, { params }) => tunnels.remove(params.name),
  }),
];
