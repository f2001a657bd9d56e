import { Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { PAGE_ANSWERS } from "../shared/page-answers.ts";
import { accessRoutes } from "./access.ts";
import { answers } from "./answers.ts";
import { destinationRoutes } from "./destinations.ts";
import { deviceRoutes, networkRoute } from "./devices.ts";
import { healthRoutes } from "./health.ts";
import { historyRoutes } from "./history.ts";
import { refused } from "./refusals.ts";
import { type Route, route } from "./route.ts";
import { scheduleRoutes } from "./schedules.ts";
import { serverRoutes } from "./servers.ts";
import { statusRoute, tunnelRoutes } from "./tunnels.ts";

const ROUTES: readonly Route[] = [
  ...[...accessRoutes, networkRoute, statusRoute, ...tunnelRoutes, ...deviceRoutes, ...healthRoutes],
  ...[...destinationRoutes, ...serverRoutes, ...historyRoutes, ...scheduleRoutes],
];

const LIST = `(${PAGE_ANSWERS.join("|")})`;

/** GET /api/page. */
export const PageAnswers = objectOf(
  Object.fromEntries(PAGE_ANSWERS.map((name) => [name, Type.Optional(schemaOf(name))])),
);

/** One request for many answers: a page that asked for each would be over the limit before it is drawn. */
export const pageRoute = route({
  method: "get",
  path: "/api/page",
  id: "getPage",
  summary: "Read several answers at once",
  description:
    "For a page that would be over the limit if it asked for each. What could not be read is missing, and its own path says why.",
  tag: "Events",
  query: objectOf({
    of: Type.Optional(
      Type.String({
        maxLength: 300,
        pattern: `^${LIST}( ${LIST})*$`,
        description: `which, with spaces between them: ${PAGE_ANSWERS.join(", ")}; all of them if not given`,
        example: "tunnels devices",
      }),
    ),
  }),
  answers: answers(
    PageAnswers,
    "each as its own path answers it; one that could not be read is missing, and its path says why",
  ),
  run: async ({ readings }, { query, request }) => {
    const names = [...new Set(query.of?.split(" ") ?? PAGE_ANSWERS)];
    const read = await Promise.allSettled(
      names.map(async (name) =>
        readings.get(`/api/${name}`)?.({ request, query: {}, params: {}, body: null }),
      ),
    );
    return Object.fromEntries(
      names.flatMap((name, at) => {
        const result = read[at];
        return result?.status === "fulfilled" ? [[name, result.value]] : [];
      }),
    );
  },
});

function schemaOf(name: string) {
  const found = ROUTES.find(({ method, path }) => method === "get" && path === `/api/${name}`);
  const schema = found?.answers?.[200];
  if (schema === undefined) throw refused("answer_unknown", { name });
  // What it is stands at its own path.
  return { ...schema, description: undefined };
}
