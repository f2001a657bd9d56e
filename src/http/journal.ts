import { Elysia } from "elysia";
import { Type } from "typebox";
import { JournalPage } from "../journal/schema.ts";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";
import { standardSchema } from "./standard-schema.ts";

/** A page of the journal is at most some 150 KB. */
const MAX_EVENTS = 500;
const USUAL_EVENTS = 100;

/** More digits than any id has, and exact as a number. */
const WHOLE = "^[0-9]{1,15}$";

const Range = standardSchema(
  Type.Object(
    {
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
    },
    { additionalProperties: false },
  ),
  "query",
);

export function journalRoutes(gateway: Gateway) {
  return new Elysia().get(
    "/api/events",
    ({ query: { since = "0", before, limit = `${USUAL_EVENTS}` } }) =>
      gateway.journal({
        after: Number(since),
        before: before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
        most: Number(limit),
      }),
    {
      query: Range,
      response: answers(
        JournalPage,
        "the latest events of the range, oldest first; they are kept over restarts",
      ),
      detail: { summary: "Read what has happened", tags: ["Events"] },
    },
  );
}
