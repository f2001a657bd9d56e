import { Elysia } from "elysia";
import { ScheduleBody, ScheduleList } from "../schedules/schema.ts";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import { SCHEDULE_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { namePath } from "./schema.ts";
import { standardSchema } from "./standard-schema.ts";

const PATH = namePath("bedtime");

export function scheduleRoutes(gateway: Gateway) {
  return new Elysia()
    .get("/api/schedules", () => gateway.schedules(), {
      response: answers(ScheduleList, "the schedules, by name"),
      detail: { summary: "List the schedules", tags: ["Schedules"] },
    })
    .put(
      "/api/schedules/:name",
      async ({ params, body }) => {
        await gateway.putSchedule(params.name, body);
        return { success: true as const };
      },
      {
        parse: jsonBody,
        params: PATH,
        body: standardSchema({ ...ScheduleBody, examples: [SCHEDULE_EXAMPLE] }),
        response: answers(Success, "the schedule is saved, and in force if its time is now"),
        detail: {
          summary: "Give a device an exit, or move a tunnel, at certain times; replaces the schedule",
          tags: ["Schedules"],
        },
      },
    )
    .delete(
      "/api/schedules/:name",
      async ({ params }) => {
        await gateway.removeSchedule(params.name);
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: PATH,
        response: answers(Success, "there is no schedule of this name any more, nor an exit because of it"),
        detail: { summary: "Remove a schedule", tags: ["Schedules"] },
      },
    );
}
