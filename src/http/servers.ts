import { Elysia } from "elysia";
import type { Static } from "typebox";
import { nextTurn } from "../base/queue.ts";
import { answers } from "./answers.ts";
import { answerWith, entityOnce } from "./etag.ts";
import type { Gateway } from "./gateway.ts";
import { ServerCounts, Servers } from "./schema.ts";

const RESPONSE = answers(
  Servers,
  "the current provider's servers by country and city; 304 if If-None-Match has the current ETag",
);

export function serverRoutes(gateway: Gateway) {
  const entityOf = entityOnce(assertServers);
  return new Elysia()
    .get("/api/servers", async ({ request }) => answerWith(await entityOf(gateway.servers()), request), {
      response: RESPONSE,
      detail: { summary: "List the current provider's servers", tags: ["Servers"] },
    })
    .get("/api/servers/counts", () => gateway.serverCounts(), {
      response: answers(ServerCounts, "the current provider, and how many servers each has"),
      detail: { summary: "Count the servers of each provider", tags: ["Servers"] },
    });
}

/** Elysia validates objects, but this route answers with bytes. Each country has its turn: 20,000 servers take 30 ms. */
async function assertServers({ servers, ...rest }: Static<typeof Servers>): Promise<void> {
  for (const [country, cities] of Object.entries(servers)) {
    await nextTurn();
    assertFit({ ...rest, servers: { [country]: cities } });
  }
  await nextTurn();
  assertFit({ ...rest, servers: {} });
}

function assertFit(servers: Static<typeof Servers>): void {
  const checked = RESPONSE[200]["~standard"].validate(servers);
  if ("issues" in checked)
    throw new Error(`the answer does not fit its schema: ${checked.issues[0]?.message}`);
}
