import { Type } from "typebox";
import { ScheduleBody, ScheduleList } from "../schedules/schema.ts";
import { answers, DONE } from "./answers.ts";
import { DEVICE_EXAMPLE } from "./devices.ts";
import { route } from "./route.ts";

const params = { name: Type.String({ example: "bedtime" }) };

export const scheduleRoutes = [
  route({
    method: "get",
    path: "/api/schedules",
    id: "listSchedules",
    summary: "List the schedules",
    description: "By name, with what each does next and whether it is in force.",
    tag: "Schedules",
    answers: answers(ScheduleList, "the schedules, by name"),
    run: ({ schedules }) => schedules.list(),
  }),
  route({
    method: "put",
    path: "/api/schedules/:name",
    id: "setSchedule",
    summary: "Make or replace a schedule",
    description:
      "At certain times it gives a device an exit, a rate or a quota, gives all other devices a shared rate or quota, or moves a tunnel. It is in force at once if its time is now.",
    tag: "Schedules",
    params,
    body: ScheduleBody,
    example: {
      device: DEVICE_EXAMPLE,
      exit: "blocked",
      at: "21:00",
      until: "07:00",
      days: ["sun", "mon", "tue", "wed", "thu"],
    },
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ schedules }, { params, body }) => schedules.put(params.name, body),
  }),
  route({
    method: "delete",
    path: "/api/schedules/:name",
    id: "removeSchedule",
    summary: "Remove a schedule",
    description: "What is in force because of it ends.",
    tag: "Schedules",
    params,
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ schedules }, { params }) => schedules.remove(params.name),
  }),
];
