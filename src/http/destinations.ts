import { Type } from "typebox";
import {
  Destination,
  DestinationBody,
  DestinationChange,
  DestinationList,
  Explanation,
} from "../destinations/schema.ts";
import { answers, done } from "./answers.ts";
import { DEVICE_EXAMPLE } from "./devices.ts";
import { route } from "./route.ts";

const params = { id: Type.String({ example: "3f9a1c" }) };

export const destinationRoutes = [
  route({
    method: "get",
    path: "/api/destinations",
    summary: "List the rules for destinations",
    tag: "Destinations",
    answers: answers(DestinationList, "the rules, of which the most specific holds"),
    run: ({ destinations }) => destinations.list(),
  }),
  route({
    method: "get",
    path: "/api/destinations/explain",
    summary: "Explain by which exit a device reaches a name or an address",
    tag: "Destinations",
    query: Type.Object(
      {
        device: Type.String({ description: "its id, as in /api/devices", example: DEVICE_EXAMPLE }),
        name: Type.String({ description: "a name, or an IP address", example: "www.example.com" }),
      },
      { additionalProperties: false },
    ),
    answers: answers(Explanation, "which rule holds, which exit that is, and why"),
    run: ({ destinations, blockLists }, { query }) =>
      destinations.explain(query.device, query.name, (name, device) => blockLists.blocks([name], device)),
  }),
  route({
    method: "post",
    path: "/api/destinations",
    summary: "Give the traffic to some destinations another exit",
    tag: "Destinations",
    body: DestinationBody,
    example: {
      names: ["ads.example.com"],
      prefixes: ["203.0.113.0/24"],
      exit: "blocked",
      note: "advertisements",
    },
    answers: answers(Destination, "the rule is saved and in force; `warning` says what to know about it"),
    limit: "connection",
    together: "queued",
    run: ({ destinations }, { body }) => destinations.add(body),
  }),
  route({
    method: "patch",
    path: "/api/destinations/:id",
    summary: "Change a rule for destinations",
    tag: "Destinations",
    params,
    body: DestinationChange,
    example: { exit: "main" },
    answers: answers(Destination, "the rule is saved and in force as it is now"),
    limit: "connection",
    together: "queued",
    run: ({ destinations }, { params, body }) => destinations.edit(params.id, body),
  }),
  route({
    method: "delete",
    path: "/api/destinations/:id",
    summary: "Remove a rule for destinations",
    tag: "Destinations",
    params,
    answers: done("there is no such rule any more: the traffic takes the exit of its device"),
    limit: "connection",
    together: "queued",
    run: ({ destinations }, { params }) => destinations.remove(params.id),
  }),
];
