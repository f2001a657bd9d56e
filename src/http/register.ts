import type { Elysia } from "elysia";
import { objectOf } from "../base/object.ts";
import { nextTurn, Queue } from "../base/queue.ts";
import { paced, shared } from "../base/readings.ts";
import { jsonBody, unusedBody } from "./body.ts";
import type { Domain, RouteInput } from "./domain.ts";
import type { Fields, Route } from "./route.ts";
import { standardSchema } from "./standard-schema.ts";

type Run = (given: RouteInput) => unknown;

/** Adds routes to an app of Elysia. */
export function register(app: Elysia, routes: readonly Route[], domain: Domain): void {
  const queue = new Queue();
  for (const route of routes) {
    const run = runOf(route, domain, queue);
    if (route.method === "get") domain.readings.set(route.path, run);
    app.route(route.method, route.path, route.query === undefined ? withoutQuery(run) : withQuery(run), {
      ...(route.method !== "get" && {
        parse:
          route.body === undefined ? unusedBody(domain.bodies) : jsonBody(domain.bodies, route.maxBodyBytes),
      }),
      ...schemasOf(route),
    });
  }
}

function runOf({ run, together }: Route, domain: Domain, queue: Queue): Run {
  const once = async (given: RouteInput) => {
    const answer = await run(domain, given);
    return answer === undefined ? { success: true } : answer;
  };
  if (together === "shared") {
    const read = shared(() => once({} as RouteInput));
    return async () => {
      const answer = await read();
      return answer instanceof Response ? answer.clone() : answer;
    };
  }
  if (together === "queued") return (given) => queue.add(() => nextTurn().then(() => once(given)));
  return together === "paced" ? paced(once) : once;
}

// Elysia reads the source of a handler to find out which parts of a request it has to parse.
const withoutQuery =
  (run: Run) =>
  ({ request, params, body }: RouteInput) =>
    run({ request, params, body } as RouteInput);
const withQuery =
  (run: Run) =>
  ({ request, params, query }: RouteInput) =>
    run({ request, params, query } as RouteInput);

function schemasOf({ params, query, body, answers }: Route) {
  return {
    ...(params && { params: standardSchema(pathOf(params), "path") }),
    ...(query && { query: standardSchema(query, "query") }),
    ...(body && { body: standardSchema(body) }),
    ...(answers && { response: answers }),
  };
}

function pathOf(params: Fields) {
  return objectOf(params);
}
