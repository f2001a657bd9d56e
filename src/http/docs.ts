import { type DocumentDecoration, Elysia } from "elysia";
import { license, version } from "../../package.json";
import { nextTurn } from "../base/queue.ts";
import { Components, refTo } from "./components.ts";
import { EVENTS } from "./event.ts";
import { type Gate, PROTOCOL, PROTOCOL_TOKEN } from "./gate.ts";
import { HEADERS, operationOf, sharedResponses } from "./operation.ts";
import { type Route, route } from "./route.ts";
import { sharedAnswer } from "./shared-answer.ts";
import { TAGS } from "./tags.ts";

/** `/swagger/json`, the OpenAPI document of the endpoints, which `/swagger` shows. */
export function docsRoute(routes: readonly Route[]): Route {
  let document: Promise<Blob> | undefined;
  return route({
    method: "get",
    path: "/swagger/json",
    run: async ({ gate }) => {
      document ??= documentOf(routes, gate.auth).then((made) => new Blob([JSON.stringify(made)]));
      return sharedAnswer(await document, { headers: { "Content-Type": "application/json" } });
    },
  });
}

/**
 * The plugin runs in an app of its own that does not listen, because besides the document it serves a page that loads
 * scripts from a CDN, and no page of the gateway may depend on the internet. Operations are made here: of schemas, the
 * plugin knows neither names nor what they share, and of types, only what version 3.0 has.
 */
async function documentOf(all: readonly Route[], auth: Gate["auth"]) {
  const routes = all.filter(({ id }) => id !== undefined);
  // It is rarely requested, and takes as long to load as all other routes. Each step has a turn of the event loop.
  const { swagger } = await import("@elysiajs/swagger");
  await nextTurn();
  const components = new Components();
  const described = new Elysia();
  for (const each of routes)
    described.route(each.method, each.path, () => "", {
      // The plugin's types are those of version 3.0.
      detail: operationOf(each, auth, components) as DocumentDecoration,
    });
  await nextTurn();
  described.use(swagger({ excludeStaticFile: false }));
  const response = await described.handle(new Request("http://localhost/swagger/json"));
  const { paths } = (await response.json()) as { paths: object };
  const { components: named, ...rest } = about(routes, components);
  return { openapi: "3.1.0", ...rest, paths, components: named };
}

/** The document without its operations, which have named the components. */
function about(routes: readonly Route[], components: Components) {
  const responses = sharedResponses(components);
  const tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }));
  return {
    info: INFO,
    servers: [{ url: "/", description: "this gateway" }],
    tags: tags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
    components: {
      schemas: { ...components.schemas, Event: EVENT },
      responses,
      headers: HEADERS,
      securitySchemes: { token: TOKEN },
    },
  };
}

const INFO = {
  title: "Portcullis",
  description:
    "A WireGuard VPN gateway with a kill switch. The local network is served; /api/access says whether a " +
    "token is needed. Malformed " +
    "HTTP is answered before it reaches an endpoint, without a body: 431 if the head is larger than 16 KiB or has " +
    "too many fields, 505 for a version other than HTTP/1.0 and 1.1, 400 otherwise. Every answer under /api has " +
    "the headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.",
  version,
  license: { name: license, identifier: license },
};

/** TypeBox has no discriminator. A schema whose name equals its `type` needs no entry in a mapping. */
const EVENT = {
  oneOf: Object.keys(EVENTS).map((type) => ({ $ref: refTo(type) })),
  discriminator: { propertyName: "type" },
};

const TOKEN = {
  type: "http",
  scheme: "bearer",
  description:
    "made on the gateway with: sudo portcullis token add <name>; a WebSocket can send it as the subprotocol " +
    `${PROTOCOL_TOKEN}<token>, beside the subprotocol ${PROTOCOL}`,
};
