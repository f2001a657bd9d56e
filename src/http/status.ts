import { Elysia } from "elysia";
import { Status } from "../tunnel/schema.ts";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";

export function statusRoutes(gateway: Gateway) {
  return new Elysia().get("/api/status", () => gateway.status(), {
    response: answers(Status, "the current state of the tunnel and the kill switch"),
    detail: { summary: "Read the tunnel's status", tags: ["Tunnel"] },
  });
}
