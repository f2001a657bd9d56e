import { Elysia } from "elysia";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";
import { RoundTripList } from "./schema.ts";

export function roundTripRoutes(gateway: Gateway) {
  return new Elysia().get("/api/round-trips", () => gateway.roundTrips(), {
    response: answers(RoundTripList, "the round trips that were measured in the last ten minutes"),
    detail: { summary: "List measured round trips to servers", tags: ["Servers"] },
  });
}
