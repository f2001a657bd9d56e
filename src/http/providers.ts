import { Elysia } from "elysia";
import { Type } from "typebox";
import { Provider } from "../servers/schema.ts";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import type { Gateway } from "./gateway.ts";
import { ManagedChoice, ManagedChoices, Providers, Switched } from "./schema.ts";
import { standardSchema } from "./standard-schema.ts";

const ProviderPath = standardSchema(
  Type.Object({ provider: Provider }, { additionalProperties: false }),
  "path",
);

export function providerRoutes(gateway: Gateway) {
  return new Elysia()
    .get("/api/providers", () => gateway.providers(), {
      response: answers(Providers, "all providers and the current one"),
      detail: { summary: "List the providers", tags: ["Servers"] },
    })
    .post(
      "/api/provider/:provider",
      async ({ params: { provider } }) => {
        await gateway.use(provider);
        return { success: true as const, provider };
      },
      {
        parse: unusedBody,
        params: ProviderPath,
        response: answers(Switched, "the provider is now the current one; a live tunnel is not changed"),
        detail: { summary: "Switch the current provider", tags: ["Servers"] },
      },
    )
    .get("/api/managed", () => gateway.managed(), {
      response: answers(ManagedChoices, "whose servers `managed` can have, and has"),
      detail: { summary: "List whose servers managed can have", tags: ["Servers"] },
    })
    .put(
      "/api/managed",
      async ({ body: { name } }) => {
        await gateway.chooseManaged(name);
        return { success: true as const };
      },
      {
        parse: jsonBody,
        body: standardSchema({ ...ManagedChoice, examples: [{ name: "list" }] }),
        response: answers(Success, "the servers of `managed` are now those; no tunnel may use one of them"),
        detail: { summary: "Choose whose servers managed has", tags: ["Servers"] },
      },
    );
}
