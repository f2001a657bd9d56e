import { Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { pageOf } from "../history/page.ts";
import { HistoryPage, Resolution } from "../history/schema.ts";
import { JournalPage } from "../journal/schema.ts";
import { MAX_EVENTS } from "../shared/bounds.ts";
import { answers } from "./answers.ts";
import { answerWith, entityOnce } from "./etag.ts";
import { route } from "./route.ts";

const USUAL_EVENTS = 100;

/** More digits than any id has, and exact as a number. */
const WHOLE = "^[0-9]{1,15}$";

const TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,3})?)?Z$";

const CARRIED = answers(
  HistoryPage,
  "what was carried, and the states and alerts, in a time that is extended to whole minutes or hours; 304 if If-None-Match has the current ETag",
);
const carried = entityOnce(assertHistory);

export const historyRoutes = [
  route({
    method: "get",
    path: "/api/events",
    id: "listEvents",
    summary: "Read what has happened",
    description: "The latest events of the range, the oldest first. They are kept over restarts.",
    tag: "Events",
    query: objectOf({
      since: Type.Optional(
        Type.String({ pattern: WHOLE, description: "only events with a greater id", example: "41" }),
      ),
      before: Type.Optional(
        Type.String({ pattern: WHOLE, description: "only events with a smaller id", example: "142" }),
      ),
      limit: Type.Optional(
        Type.String({
          pattern: `^([1-9][0-9]?|[1-4][0-9]{2}|${MAX_EVENTS})$`,
          description: `how many at most, 1 to ${MAX_EVENTS}; ${USUAL_EVENTS} if not given`,
          example: "20",
        }),
      ),
    }),
    answers: answers(
      JournalPage,
      "the latest events of the range, oldest first; they are kept over restarts",
    ),
    run: ({ journal }, { query: { since = "0", before, limit = `${USUAL_EVENTS}` } }) =>
      journal.page({
        after: Number(since),
        before: before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
        most: Number(limit),
      }),
  }),
  route({
    method: "get",
    path: "/api/history",
    id: "getHistory",
    summary: "Read what tunnels and devices have carried",
    description: "By minute or by hour, with states, alerts and quality. It has an ETag.",
    tag: "Events",
    query: objectOf({
      tunnel: Type.Optional(
        Type.String({
          maxLength: 64,
          description: "only this tunnel's figures and states",
          example: "main",
        }),
      ),
      device: Type.Optional(
        Type.String({
          maxLength: 64,
          description: "only this device's figures",
          example: "02:00:00:00:00:20",
        }),
      ),
      uplink: Type.Optional(
        Type.Literal("true", {
          description: "the quality of the uplink in place of a tunnel's",
          example: "true",
        }),
      ),
      from: Type.Optional(
        Type.String({
          pattern: TIME,
          description: "ISO 8601 in UTC; an hour before the end if not given",
          example: "2026-03-01T18:00Z",
        }),
      ),
      to: Type.Optional(
        Type.String({
          pattern: TIME,
          description: "ISO 8601 in UTC, exclusive; now if not given",
          example: "2026-03-01T19:00Z",
        }),
      ),
      resolution: Type.Optional({
        ...Resolution,
        description: "minute is kept for a day, hour for two months; by default as fine as is kept",
        example: "minute",
      }),
    }),
    answers: CARRIED,
    together: "paced",
    run: async ({ history, journal, tunnels, host }, { query, request }) => {
      const names = tunnels.all().map(({ name }) => name);
      const page = await pageOf(query, { history, journal, tunnels: names, now: host.now() });
      return answerWith(await carried(page), request);
    },
  }),
];

/** Elysia validates objects, but this route answers with bytes. */
function assertHistory(page: HistoryPage): void {
  const checked = CARRIED[200]["~standard"].validate(page);
  if ("issues" in checked)
    throw new Error(`the answer does not fit its schema: ${checked.issues[0]?.message}`);
}
