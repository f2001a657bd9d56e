import { Elysia } from "elysia";
import { Type } from "typebox";
import { Provider, ServerTree } from "../servers/schema.ts";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";

const Servers = Type.Object({ servers: ServerTree, provider: Provider }, { additionalProperties: false });

export function serverRoutes(gateway: Gateway) {
  return new Elysia().get("/api/servers", () => gateway.servers(), {
    response: answers(Servers, "country, city, servers of the current provider"),
    detail: { summary: "List the current provider's servers", tags: ["Servers"] },
  });
}
