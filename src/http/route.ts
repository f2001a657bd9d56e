import type { Static, TSchema } from "typebox";
import type { Success } from "./answers.ts";
import type { Domain } from "./domain.ts";
import type { RouteAccess } from "./gate.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Tag } from "./tags.ts";

export type Fields = Record<string, TSchema>;
type Answers = Record<number, TSchema & StandardSchema<unknown>>;

/** All that is known of a route. */
interface RouteOf<
  Params extends Fields,
  Query extends TSchema,
  Body extends TSchema,
  Answered extends Answers,
> {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly path: string;
  /** Verb and noun, as in `listDevices`. The OpenAPI document leaves out routes without one; others have all four. */
  readonly id?: string;
  readonly summary?: string;
  /** What the summary and the schemas do not say. */
  readonly description?: string;
  readonly tag?: Tag;
  /** The parameters in the path. */
  readonly params?: Params;
  /** Without it, a query is ignored. */
  readonly query?: Query;
  /** Without it, a body is ignored. */
  readonly body?: Body;
  /** If a body may be larger than others. */
  readonly maxBodyBytes?: number;
  /** A body for the document; it fits the sandbox of `portcullis try`. */
  readonly example?: Static<Body>;
  readonly answers?: Answered;
  /**
   * Counts against the limit of connections too. So does every other method of the path, unless it is a GET that has a route
   * of its own. If the path has parameters, so does every unknown path that begins with what stands before the first of them.
   */
  readonly limit?: "connection";
  /**
   * `open`: it never needs a token. `private`: it takes or returns what only the gateway's owner should know, so it is
   * served over HTTPS only, and if tokens are asked for, only with one that may change things, whatever the method.
   * `owner`: what is otherwise root's, so over HTTPS and with the token of an owner only. `pairing`: over HTTPS only, and
   * with the code in its body in place of a token.
   */
  readonly access?: RouteAccess;
  /** A token may be typed there. */
  readonly page?: true;
  /** A parameter may have a slash, sent as `%2F`. */
  readonly slash?: true;
  /**
   * How requests that come at the same time are served. `shared`: by one reading, so `run` cannot look at the request.
   * `queued`: one after the other, together with those of the other queued routes, and with other work between them, because a
   * write to the disk blocks the whole process. `paced`: one after the other with pauses, because a long read blocks it too.
   */
  readonly together?: "shared" | "queued" | "paced";
  /** Returns nothing if the answer is `Success`. */
  readonly run: (
    domain: Domain,
    asked: Asked<{ [Name in keyof Params]: Static<Params[Name]> }, Static<Query>, Static<Body>>,
  ) => Result<Answered> | Promise<Result<Answered>>;
}

export interface Asked<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  request: Request;
}

type Result<Answered> = Answered extends { 200: StandardSchema<infer Value> }
  ? // biome-ignore lint/suspicious/noConfusingVoidType: what a method that returns nothing returns
    Response | Value | (Static<typeof Success> extends Value ? void : never)
  : unknown;

export type Route = RouteOf<Fields, TSchema, TSchema, Answers>;

/** A route whose `run` the compiler holds to its schemas. */
export function route<
  Answered extends Answers,
  Params extends Fields = Record<never, never>,
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
>(given: RouteOf<Params, Query, Body, Answered>): Route {
  return given as unknown as Route;
}
