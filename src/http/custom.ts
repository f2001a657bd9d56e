import { Elysia } from "elysia";
import { CustomServer } from "../servers/schema.ts";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import { CUSTOM_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { namePath } from "./schema.ts";
import { standardSchema } from "./standard-schema.ts";

export function customRoutes(gateway: Gateway) {
  return new Elysia()
    .post(
      "/api/custom/add",
      async ({ body }) => {
        await gateway.addCustom(body);
        return { success: true as const };
      },
      {
        parse: jsonBody,
        body: standardSchema({ ...CustomServer, examples: [CUSTOM_EXAMPLE] }),
        response: answers(Success, "the server was added to your own (`custom`)"),
        detail: { summary: "Add a server of your own", tags: ["Servers"] },
      },
    )
    .delete(
      "/api/custom/remove/:name",
      async ({ params: { name } }) => {
        await gateway.remove("custom", name);
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: namePath(CUSTOM_EXAMPLE.name),
        response: answers(Success, "the server was removed"),
        detail: { summary: "Remove a server of your own", tags: ["Servers"] },
      },
    );
}
