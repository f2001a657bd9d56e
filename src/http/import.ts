import { Elysia } from "elysia";
import { Type } from "typebox";
import { ImportedConfig } from "../servers/schema.ts";
import { answers } from "./answers.ts";
import { jsonBody } from "./body.ts";
import { IMPORT_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { standard } from "./standard.ts";

export const Imported = Type.Object(
  {
    success: Type.Literal(true),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description: "what the file asks for and the gateway does in its own way",
      }),
    ),
  },
  { additionalProperties: false },
);

export function importRoutes(gateway: Gateway) {
  return new Elysia().post(
    "/api/import",
    async ({ body }) => {
      const warnings = await gateway.importConfig(body);
      return warnings.length > 0 ? { success: true as const, warnings } : { success: true as const };
    },
    {
      parse: jsonBody,
      body: standard({ ...ImportedConfig, examples: [IMPORT_EXAMPLE] }),
      response: answers(Imported, "the configuration is in the list of the provider imported"),
      detail: { summary: "Import a WireGuard configuration", tags: ["Servers"] },
    },
  );
}
