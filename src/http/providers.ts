import { Elysia } from "elysia";
import { Type } from "typebox";
import { Provider } from "../servers/schema.ts";
import { answers } from "./answers.ts";
import { unusedBody } from "./body.ts";
import type { Gateway } from "./gateway.ts";
import { Providers, Switched } from "./schema.ts";
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
    );
}
