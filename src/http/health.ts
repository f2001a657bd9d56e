import { Elysia } from "elysia";
import { Type } from "typebox";
import { answer, Refusal } from "./answers.ts";
import type { Gateway } from "./gateway.ts";

export function healthRoutes(gateway: Gateway) {
  return new Elysia().get(
    "/health",
    async () => {
      const trouble = await gateway.health();
      return trouble === null ? plain("healthy", 200) : plain(trouble.replace(/\s+/g, " "), 500);
    },
    {
      response: {
        200: answer(Type.Literal("healthy"), "the kill switch works as promised"),
        403: answer(Refusal, "from outside the local network, or sent by a page of another site"),
        500: answer(Type.String(), "it does not; one line says why"),
      },
      detail: { summary: "Check health", tags: ["Health"] },
    },
  );
}

function plain(text: string, status: number): Response {
  return new Response(text, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}
