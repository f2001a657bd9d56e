import { Elysia } from "elysia";
import type { Static } from "typebox";
import { answers } from "./answers.ts";
import { answerWith, entityOnce } from "./etag.ts";
import type { Gateway } from "./gateway.ts";
import { Servers } from "./schema.ts";

const RESPONSE = answers(
  Servers,
  "country, city, servers of the current provider; who sends the ETag back in If-None-Match gets 304 while it holds",
);

export function serverRoutes(gateway: Gateway) {
  const entityOf = entityOnce(assertServers);
  return new Elysia().get("/api/servers", ({ request }) => answerWith(entityOf(gateway.servers()), request), {
    response: RESPONSE,
    detail: { summary: "List the current provider's servers", tags: ["Servers"] },
  });
}

/** Elysia checks objects, not the bytes that this route answers with. */
function assertServers(servers: Static<typeof Servers>): void {
  const checked = RESPONSE[200]["~standard"].validate(servers);
  if ("issues" in checked)
    throw new Error(`the answer does not fit its schema: ${checked.issues[0]?.message}`);
}
