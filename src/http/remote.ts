import { Type } from "typebox";
import { AddedRemoteDevice, NewRemoteDevice, RemoteDeviceChange, RemoteStatus } from "../remote/schema.ts";
import { answers, done } from "./answers.ts";
import { route } from "./route.ts";

const path = "/api/remote/devices/:name";
const params = { name: Type.String({ description: "its name or its id", example: "phone" }) };

export const remoteRoutes = [
  route({
    method: "get",
    path: "/api/remote",
    summary: "Read how devices come in from the road",
    tag: "Devices",
    answers: answers(RemoteStatus, "whether devices may come in, how, and which"),
    together: "shared",
    run: ({ remoteAccess }) => remoteAccess.status(),
  }),
  route({
    method: "post",
    path: "/api/remote/devices",
    summary: "Let a device in from the road",
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
    summary: "Change a device on the road",
    tag: "Devices",
    params,
    body: RemoteDeviceChange,
    example: { lan: false },
    answers: done("the device has what was given"),
    limit: "connection",
    slash: true,
    run: ({ remoteAccess }, { params, body }) => remoteAccess.update(params.name, body),
  }),
  route({
    method: "delete",
    path,
    summary: "Let a device in no more",
    tag: "Devices",
    params,
    answers: done("the device is forgotten, and none of its packets passes"),
    limit: "connection",
    slash: true,
    run: ({ remoteAccess }, { params }) => remoteAccess.remove(params.name),
  }),
];
