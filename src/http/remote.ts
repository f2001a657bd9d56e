import { Type } from "typebox";
import { AddedRemoteDevice, NewRemoteDevice, RemoteDeviceChange, RemoteStatus } from "../remote/schema.ts";
import { answers, DONE } from "./answers.ts";
import { route } from "./route.ts";

const path = "/api/remote/devices/:name";
const params = { name: Type.String({ description: "its name or its id", example: "phone" }) };

export const remoteRoutes = [
  route({
    method: "get",
    path: "/api/remote",
    id: "getRemoteAccess",
    summary: "Read how devices come in from outside",
    description: "Whether remote access is on, at which addresses, and which devices may use it.",
    tag: "Devices",
    answers: answers(RemoteStatus, "whether devices may come in, how, and which"),
    together: "shared",
    run: ({ remoteAccess }) => remoteAccess.status(),
  }),
  route({
    method: "post",
    path: "/api/remote/devices",
    id: "addRemoteDevice",
    summary: "Let a device come in from outside",
    description:
      "The answer has all that the device's WireGuard file needs but its private key, which stays on the device.",
    tag: "Devices",
    body: NewRemoteDevice,
    example: { name: "phone", public_key: "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=" },
    answers: answers(AddedRemoteDevice, "all that the device's file needs but its private key"),
    limit: "connection",
    run: ({ remoteAccess }, { body }) => remoteAccess.add(body),
  }),
  route({
    method: "patch",
    path,
    id: "changeRemoteDevice",
    summary: "Change a device that comes in from outside",
    description: "What is not given stays.",
    tag: "Devices",
    params,
    body: RemoteDeviceChange,
    example: { lan: false },
    answers: DONE,
    limit: "connection",
    slash: true,
    run: ({ remoteAccess }, { params, body }) => remoteAccess.update(params.name, body),
  }),
  route({
    method: "delete",
    path,
    id: "removeRemoteDevice",
    summary: "Remove a device that comes in from outside",
    description: "Its key is forgotten, and its packets are dropped at once.",
    tag: "Devices",
    params,
    answers: DONE,
    limit: "connection",
    slash: true,
    run: ({ remoteAccess }, { params }) => remoteAccess.remove(params.name),
  }),
];
