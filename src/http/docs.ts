import { Elysia } from "elysia";
import { version } from "../../package.json";
import { CODES } from "../base/errors.ts";
import type { Domain } from "./domain.ts";
import { EVENTS } from "./event.ts";
import { type Gate, PROTOCOL, PROTOCOL_TOKEN } from "./gate.ts";
import { register } from "./register.ts";
import { type Route, route } from "./route.ts";
import { accessOf } from "./rules.ts";
import { sharedAnswer } from "./shared-answer.ts";

/** `/swagger/json`, the OpenAPI document of the endpoints, which `/swagger` shows. */
export function docsRoute(routes: readonly Route[]): Route {
  let document: Promise<Blob> | undefined;
  return route({
    method: "get",
    path: "/swagger/json",
    run: async (domain) => {
      document ??= documentOf(routes, domain)
        .then(corrected)
        .then(withEvents)
        .then((made) => withSecurity(made, domain.gate.auth))
        .then((made) => new Blob([JSON.stringify(made)]));
      return sharedAnswer(await document, { headers: { "Content-Type": "application/json" } });
    },
  });
}

/**
 * The plugin runs in an app of its own that does not listen, because besides the document it serves a page that
 * loads scripts from a CDN, and no page of the gateway may depend on the internet.
 */
async function documentOf(routes: readonly Route[], domain: Domain): Promise<OpenApi> {
  // Few ask for it, and it takes as long to load as all other routes.
  const { swagger } = await import("@elysiajs/swagger");
  const described = new Elysia().use(swagger({ documentation: { info: INFO } }));
  register(described, routes, domain);
  const response = await described.handle(new Request("http://localhost/swagger/json"));
  return (await response.json()) as OpenApi;
}

const INFO = {
  title: "Portcullis",
  description:
    "A WireGuard VPN gateway with a kill switch. The local network is served; /api/access says whether a " +
    "token is needed. Malformed " +
    "HTTP is answered before it reaches an endpoint, without a body: 431 if the head is larger than 16 KiB or has " +
    "too many fields, 505 for a version other than HTTP/1.0 and 1.1, 400 otherwise.",
  version,
};

/** The parts of the document that are changed here. */
interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components?: Record<string, Record<string, unknown>>;
}
interface Operation {
  requestBody?: Body;
  security?: Record<string, string[]>[];
  responses: Record<string, Body>;
}
interface Body {
  description?: string;
  content: Record<string, { schema: { type?: string; $ref?: string } }>;
}

/**
 * The plugin lists three content types for every body, leaves keywords of the schema outside it, and states version
 * 3.0, although `const` and `null` are from 3.1.
 */
function corrected(document: OpenApi): OpenApi {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const operation of Object.values(operations)) {
      if (operation.requestBody !== undefined)
        operation.requestBody.content = contentOf(operation.requestBody);
      for (const [status, { description = "", ...response }] of Object.entries(operation.responses)) {
        const headers = /^\/(api|v1)\//.test(path) ? { headers: headersOf(status) } : {};
        operation.responses[status] = { description, ...headers, content: contentOf(response) };
      }
    }
  }
  return { ...document, openapi: "3.1.0" };
}

/** OpenAPI cannot describe the messages of a WebSocket; they are given as the content of the 101 answer. */
function withEvents(document: OpenApi): OpenApi {
  const responses = document.paths["/ws"]?.get?.responses;
  if (responses === undefined) throw new Error("/ws is not in the document");
  responses[101] = {
    description: "the connection is a WebSocket; each text message is one event, and the client sends none",
    content: { "application/json": { schema: { $ref: "#/components/schemas/event" } } },
  };
  // A schema whose name equals its `type` needs no entry in the discriminator's mapping.
  const oneOf = Object.keys(EVENTS).map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const event = { oneOf, discriminator: { propertyName: "type" } };
  return { ...document, components: { schemas: { ...EVENTS, event } } };
}

/** Which operations need a token, as this gateway is set. */
function withSecurity(document: OpenApi, auth: Gate["auth"]): OpenApi {
  const token = {
    type: "http",
    scheme: "bearer",
    description:
      "made on the gateway with: sudo portcullis token add <name>; a WebSocket can send it as the subprotocol " +
      `${PROTOCOL_TOKEN}<token>, beside the subprotocol ${PROTOCOL}`,
  };
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(operations))
      operation.security = requirementsOf(auth, method, path);
  return { ...document, components: { ...document.components, securitySchemes: { token } } };
}

/** Any one of them is enough; the empty one is none. */
function requirementsOf(auth: Gate["auth"], method: string, path: string): Record<string, string[]>[] {
  const access = accessOf(path);
  if (auth === "off" || access === "open") return [];
  return auth === "write" && method === "get" && access !== "private" ? [{}, { token: [] }] : [{ token: [] }];
}

/** Only `/health` and `/metrics` answer in plain text, and only their bodies are strings. */
function contentOf(body: Body): Body["content"] {
  const json = body.content["application/json"];
  if (json === undefined) return body.content;
  return { [json.schema.type === "string" ? "text/plain" : "application/json"]: json };
}

function headersOf(status: string): Record<string, unknown> {
  const number = (description: string) => ({ description, schema: { type: "integer" } });
  return {
    "X-RateLimit-Limit": number("requests per second that a client may send to this endpoint"),
    "X-RateLimit-Remaining": number("how many of them are left"),
    "X-RateLimit-Reset": number("Unix time in seconds when all of them are available again"),
    ...(status >= "400" && {
      "Error-Code": { description: "why, for programs", schema: { type: "string", enum: CODES } },
    }),
    ...(status === "429" && { "Retry-After": number("seconds to wait") }),
  };
}
