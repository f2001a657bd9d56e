import { Type } from "typebox";
import { objectOf } from "../base/object.ts";
import {
  Destination,
  DestinationBody,
  DestinationChange,
  DestinationList,
  Explanation,
} from "../destinations/schema.ts";
import { answers, DONE } from "./answers.ts";
import { DEVICE_EXAMPLE } from "./devices.ts";
import { route } from "./route.ts";

const params = { id: Type.String({ example: "3f9a1c" }) };

export const destinationRoutes = [
  route({
    method: "get",
    path: "/api/destinations",
    id: "listDestinations",
    summary: "List the rules for destinations",
    description: "A rule gives the traffic to some names or addresses another exit than that of the device.",
    tag: "Destinations",
    answers: answers(DestinationList, "the rules, of which the most specific holds"),
    run: ({ destinations }) => destinations.list(),
  }),
  route({
    method: "get",
    path: "/api/destinations/explain",
    id: "explainDestination",
    summary: "Explain by which exit a device reaches a destination",
    description:
      "It names the rule that holds, or says that the exit is that of the device, and looks the name up.",
    tag: "Destinations",
    query: objectOf({
      device: Type.String({ description: "its id, as in /api/devices", example: DEVICE_EXAMPLE }),
      name: Type.String({ description: "a name, or an IP address", example: "www.example.com" }),
    }),
    answers: answers(Explanation, "which rule holds, which exit that is, and why"),
    run: ({ destinations, blockLists }, { query }) =>
      destinations.explain(query.device, query.name, (name, device) => blockLists.blocks([name], device)),
  }),
  route({
    method: "post",
    path: "/api/destinations",
    id: "addDestination",
    summary: "Add a rule for destinations",
    description: "Of several rules that fit, the most specific one holds.",
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
    id: "changeDestination",
    summary: "Change a rule for destinations",
    description: "What is not given stays.",
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
    id: "removeDestination",
    summary: "Remove a rule for destinations",
    description: "The traffic then takes the exit of its device.",
    tag: "Destinations",
    params,
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ destinations }, { params }) => destinations.remove(params.id),
  }),
];
