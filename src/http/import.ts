import { Elysia } from "elysia";
import { ImportedConfig } from "../servers/schema.ts";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import { IMPORT_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { Imported, namePath } from "./schema.ts";
import { standardSchema } from "./standard-schema.ts";

export function importRoutes(gateway: Gateway) {
  return new Elysia()
    .post(
      "/api/import",
      async ({ body }) => {
        const warnings = await gateway.importConfig(body);
        return warnings.length > 0 ? { success: true as const, warnings } : { success: true as const };
      },
      {
        parse: jsonBody,
        body: standardSchema({ ...ImportedConfig, examples: [IMPORT_EXAMPLE] }),
        response: answers(Imported, "the configuration was added to the imported servers"),
        detail: { summary: "Import a WireGuard configuration", tags: ["Servers"] },
      },
    )
    .delete(
      "/api/import/:name",
      async ({ params: { name } }) => {
        await gateway.remove("imported", name);
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: namePath(IMPORT_EXAMPLE.name),
        response: answers(Success, "the configuration was removed"),
        detail: { summary: "Remove an imported server", tags: ["Servers"] },
      },
    );
}
