import { Type } from "typebox";
import { HomeLinkChange, HomeLinks, NewHomeCode, NewHomeLink, TakenHomeCode } from "../remote/schema.ts";
import { answers, DONE } from "./answers.ts";
import { DEVICE_EXAMPLE } from "./devices.ts";
import { route } from "./route.ts";

const name = Type.String({ example: "parents" });
const device = Type.String({ description: "the id of a device of the LAN", example: DEVICE_EXAMPLE });

export const linkRoutes = [
  route({
    method: "get",
    path: "/api/links",
    id: "listLinks",
    summary: "List the links to other homes",
    description: "Each with its network, and with the devices here that it reaches.",
    tag: "Devices",
    answers: answers(HomeLinks, "the links to other homes"),
    together: "shared",
    run: ({ remoteAccess }) => remoteAccess.links(),
  }),
  route({
    method: "post",
    path: "/api/links",
    id: "addLink",
    summary: "Begin a link to another home",
    description:
      "The code is for the other home. Its answer comes back, and is taken here. Neither has secrets.",
    tag: "Devices",
    body: NewHomeLink,
    example: { name: "parents" },
    answers: answers(NewHomeCode, "the code for the other home"),
    limit: "connection",
    run: ({ remoteAccess }, { body }) => remoteAccess.addLink(body.name),
  }),
  route({
    method: "post",
    path: "/api/links/take",
    id: "takeLink",
    summary: "Take the code of another home",
    description:
      "The first code makes a link, and the answer has what must go back. The answer of the other home completes the link that waits for it.",
    tag: "Devices",
    body: TakenHomeCode,
    example: { code: "home1_eyJpZCI6Ij…", name: "kids" },
    answers: answers(NewHomeCode, "the link, and what must go back, if anything"),
    limit: "connection",
    run: ({ remoteAccess }, { body }) => remoteAccess.takeLink(body.code, body.name ?? null),
  }),
  route({
    method: "patch",
    path: "/api/links/:name",
    id: "changeLink",
    summary: "Let another home leave here",
    description:
      "Its gateway becomes a device away from home, with the default exit until it is given one. It reaches nothing of the LAN by that.",
    tag: "Devices",
    params: { name },
    body: HomeLinkChange,
    example: { exit: true },
    answers: DONE,
    limit: "connection",
    run: ({ remoteAccess }, { params, body }) => remoteAccess.changeLink(params.name, body),
  }),
  route({
    method: "delete",
    path: "/api/links/:name",
    id: "removeLink",
    summary: "Remove a link to another home",
    description: "Its key is forgotten, and its packets are dropped at once.",
    tag: "Devices",
    params: { name },
    answers: DONE,
    limit: "connection",
    run: ({ remoteAccess }, { params }) => remoteAccess.removeLink(params.name),
  }),
  route({
    method: "put",
    path: "/api/links/:name/devices/:device",
    id: "allowByLink",
    summary: "Let another home reach a device",
    description: "It reaches no other device, and nothing of the gateway.",
    tag: "Devices",
    params: { name, device },
    answers: DONE,
    limit: "connection",
    run: ({ remoteAccess }, { params }) => remoteAccess.reachByLink(params.name, params.device, true),
  }),
  route({
    method: "delete",
    path: "/api/links/:name/devices/:device",
    id: "denyByLink",
    summary: "No longer let another home reach a device",
    description: "It is closed even if that cannot be saved.",
    tag: "Devices",
    params: { name, device },
    answers: DONE,
    limit: "connection",
    run: ({ remoteAccess }, { params }) => remoteAccess.reachByLink(params.name, params.device, false),
  }),
];
