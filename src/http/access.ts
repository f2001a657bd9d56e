import { Elysia } from "elysia";
import { Access } from "../access/schema.ts";
import { answers } from "./answers.ts";
import type { Gate } from "./gate.ts";

export function accessRoutes(gate: Gate) {
  return new Elysia().get(
    "/api/access",
    ({ request }) => {
      const holder = gate.holderOf(request);
      return { auth: gate.auth, token: holder && { name: holder.name, read_only: holder.readOnly } };
    },
    {
      response: answers(Access, "what needs a token, and which one this request has"),
      detail: { summary: "Which token is asking", tags: ["Access"] },
    },
  );
}
