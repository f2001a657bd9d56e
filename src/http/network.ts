import { Elysia } from "elysia";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";
import { Network } from "./schema.ts";

export function networkRoutes(gateway: Gateway) {
  return new Elysia().get("/api/network", () => gateway.network(), {
    response: answers(Network, "the gateway's own name, addresses on the LAN, and uplink"),
    detail: { summary: "Read the gateway's own network", tags: ["Devices"] },
  });
}
