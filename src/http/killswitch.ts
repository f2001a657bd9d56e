import { Elysia } from "elysia";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";
import { KillSwitchLayers } from "./schema.ts";

export function killSwitchRoutes(gateway: Gateway) {
  return new Elysia().get("/api/killswitch", () => gateway.killSwitch(), {
    response: answers(KillSwitchLayers, "the kill switch's layers as the kernel has them"),
    detail: { summary: "Read the kill switch's layers", tags: ["Health"] },
  });
}
