import type { TSchema } from "typebox";
import { CODES } from "../base/errors.ts";
import { DONE, REFUSALS, Refusal, Success } from "./answers.ts";
import type { Components } from "./components.ts";
import { EventMessage } from "./event.ts";
import { EXAMPLES } from "./examples.ts";
import type { Gate } from "./gate.ts";
import type { Route } from "./route.ts";

/** A schema's annotations, besides what it permits. */
type Described = TSchema & { type?: string; description?: string; example?: unknown };

/** A route as an operation of the OpenAPI document, for a gateway that asks for tokens as `auth` says. */
export function operationOf(route: Route, auth: Gate["auth"], components: Components) {
  const { id, summary, tag, body, example } = route;
  const parameters = parametersOf(route, components);
  return {
    operationId: id,
    summary,
    description: descriptionOf(route),
    tags: [tag],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: contentOf(body, components, example) } }),
    responses: responsesOf(route, components),
    security: requirementsOf(auth, route),
  };
}

function descriptionOf({ description, access, limit }: Route): string {
  const served = SERVED[access ?? "open"];
  const limited = limit === "connection" ? " It counts towards the limit of connections." : "";
  return `${description}${served}${limited}`;
}

const SERVED: Record<NonNullable<Route["access"]>, string> = {
  open: "",
  private: " It is served over HTTPS only.",
  pairing: " It is served over HTTPS only, and needs no token.",
  owner: " It is served over HTTPS only, to an owner.",
};

function parametersOf({ params = {}, query }: Route, components: Components) {
  const { properties = {}, required = [] } = (query ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: string[];
  };
  const parameterOf = ([name, schema]: [string, Described], where: "path" | "query") => {
    const { description, example, ...rest } = schema;
    return {
      name,
      in: where,
      required: where === "path" || required.includes(name),
      ...(description !== undefined && { description }),
      schema: components.of(rest),
      ...exampleOf(example),
    };
  };
  return [
    ...Object.entries(params).map((each) => parameterOf(each, "path")),
    ...Object.entries(properties).map((each) => parameterOf(each, "query")),
  ];
}

function responsesOf({ path, answers = {} }: Route, components: Components) {
  const { 200: done, 400: refused } = answers;
  if (done !== undefined && refused === REFUSALS[400])
    return {
      200: responseOf(done, components),
      "4XX": { $ref: `${RESPONSES}Refused` },
      "5XX": { $ref: `${RESPONSES}Failed` },
    };
  if (path === "/ws") return upgradeOf(answers, components);
  const responses = Object.entries(answers).map(([status, schema]) => [
    status,
    responseOf(schema, components),
  ]);
  return Object.fromEntries(responses);
}

const RESPONSES = "#/components/responses/";

function responseOf(schema: Described, components: Components) {
  const { description = "", ...rest } = schema;
  return schema === DONE[200]
    ? { $ref: `${RESPONSES}Done` }
    : { description, content: contentOf(rest, components) };
}

/** Several answers that have the same body. */
function refusalOf(answers: Record<string, TSchema>, components: Components, sentences = {}) {
  const { "application/json": media } = contentOf(Refusal, components);
  const examples = Object.fromEntries(
    Object.entries(sentences).map(([status, error]) => [status, { value: { success: false, error } }]),
  );
  return {
    description: Object.entries(answers)
      .map(([status, schema]) => `${status}: ${(schema as Described).description}`)
      .join("; "),
    content: { "application/json": { ...media, ...(Object.keys(examples).length > 0 && { examples }) } },
  };
}

/** The answers that the endpoints under `/api` have in common. */
export function sharedResponses(components: Components) {
  const { 500: failed, ...refused } = REFUSALS;
  const { 500: cause, ...reasons } = SENTENCES;
  const headers = {
    ...LIMIT_HEADERS,
    ...headersOf({ "Error-Code": "ErrorCode", "Retry-After": "RetryAfter" }),
  };
  return {
    Done: {
      description: "it is done",
      headers: LIMIT_HEADERS,
      content: contentOf(Success, components),
    },
    Refused: { ...refusalOf(refused, components, reasons), headers },
    Failed: { ...refusalOf({ 500: failed }, components, { 500: cause }), headers },
  };
}

/** Their schemas. */
const SENTENCES: Record<keyof typeof REFUSALS, string> = {
  400: "server is required",
  401: "a token is needed, as Authorization: Bearer <token>",
  403: "the request comes from a page of another site (Sec-Fetch-Site)",
  404: "tunnel: there is no tunnel of this name",
  429: "too many requests: see the X-RateLimit headers and Retry-After",
  500: "internal error",
};

/** Only `/health` and `/metrics` answer in plain text, and only their bodies are strings. */
function contentOf(schema: Described, components: Components, example?: unknown) {
  const examples: Record<string, unknown> = EXAMPLES;
  const media = {
    schema: components.of(schema),
    ...exampleOf(example ?? examples[components.nameOf(schema) ?? ""]),
  };
  return { [schema.type === "string" ? "text/plain" : "application/json"]: media };
}

function exampleOf(value: unknown) {
  return value === undefined ? {} : { examples: { example: { value } } };
}

/** OpenAPI cannot describe the messages of a WebSocket; they are given as the content of the 101 answer. */
function upgradeOf({ 503: full, ...refused }: Record<string, Described>, components: Components) {
  return {
    101: {
      description: "the connection is a WebSocket; each text message is one event, and the client sends none",
      content: contentOf(EventMessage, components),
    },
    "4XX": refusalOf(refused, components),
    // Linters ask for a success, and do not count an upgrade.
    default: refusalOf({ 503: full ?? Refusal }, components),
  };
}

const number = (description: string) => ({ description, schema: { type: "integer" } });

export const HEADERS = {
  RateLimitLimit: number("requests per second that a client may send to this endpoint"),
  RateLimitRemaining: number("how many of them are left"),
  RateLimitReset: number("Unix time in seconds when all of them are available again"),
  RetryAfter: number("only with 429: seconds to wait"),
  ErrorCode: { description: "why, for programs", schema: { type: "string", enum: CODES } },
};

const LIMIT_HEADERS = headersOf({
  "X-RateLimit-Limit": "RateLimitLimit",
  "X-RateLimit-Remaining": "RateLimitRemaining",
  "X-RateLimit-Reset": "RateLimitReset",
});

function headersOf(named: Record<string, keyof typeof HEADERS>) {
  return Object.fromEntries(
    Object.entries(named).map(([header, name]) => [header, { $ref: `#/components/headers/${name}` }]),
  );
}

/** Any one of them is enough; the empty one is none. */
function requirementsOf(auth: Gate["auth"], { method, access }: Route): Record<string, string[]>[] {
  if (access === "owner") return [{ token: [] }];
  if (auth === "off" || access === "open" || access === "pairing") return [];
  return auth === "write" && method === "get" && access !== "private" ? [{}, { token: [] }] : [{ token: [] }];
}
