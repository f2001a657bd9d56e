import { Elysia } from "elysia";
import { Type } from "typebox";
import { HistoryPage, Resolution } from "../history/schema.ts";
import { answers } from "./answers.ts";
import { answerWith, entityOnce } from "./etag.ts";
import type { Gateway } from "./gateway.ts";
import { standardSchema } from "./standard-schema.ts";

const TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,3})?)?Z$";

const Query = standardSchema(
  Type.Object(
    {
      tunnel: Type.Optional(
        Type.String({ maxLength: 64, description: "only this tunnel's figures and states", example: "main" }),
      ),
      device: Type.Optional(
        Type.String({
          maxLength: 64,
          description: "only this device's figures",
          example: "02:00:00:00:00:20",
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
    },
    { additionalProperties: false },
  ),
  "query",
);

const RESPONSE = answers(
  HistoryPage,
  "what was carried, and the states and alerts, in a time that is extended to whole minutes or hours; 304 if If-None-Match has the current ETag",
);

export function historyRoutes(gateway: Gateway) {
  const entityOf = entityOnce(assertHistory);
  return new Elysia().get(
    "/api/history",
    async ({ query, request }) => answerWith(await entityOf(await gateway.history(query)), request),
    {
      query: Query,
      response: RESPONSE,
      detail: { summary: "Read what tunnels and devices have carried", tags: ["Events"] },
    },
  );
}

/** Elysia validates objects, but this route answers with bytes. */
function assertHistory(page: HistoryPage): void {
  const checked = RESPONSE[200]["~standard"].validate(page);
  if ("issues" in checked)
    throw new Error(`the answer does not fit its schema: ${checked.issues[0]?.message}`);
}
