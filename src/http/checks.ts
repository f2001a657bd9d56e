import { Elysia } from "elysia";
import { Checks } from "../checks/schema.ts";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";

export function checkRoutes(gateway: Gateway) {
  return new Elysia().get("/api/checks", () => gateway.checks(), {
    response: answers(Checks, "what was looked at, what was found, and what to do about it"),
    detail: { summary: "Check that everything works", tags: ["Health"] },
  });
}
