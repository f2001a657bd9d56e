import { Type } from "typebox";
import { Forward, ForwardChange, ForwardList, ForwardProtocol } from "../forwards/schema.ts";
import { answers, DONE } from "./answers.ts";
import { DEVICE_EXAMPLE } from "./devices.ts";
import { route } from "./route.ts";

const path = "/api/forwards/:device/:protocol/:port";
const params = {
  device: Type.String({ example: DEVICE_EXAMPLE }),
  protocol: ForwardProtocol,
  port: Type.String({ pattern: "^(0|[1-9][0-9]{0,4})$", description: "1 to 65535", example: "6881" }),
};

// A change waits for the provider, so others do not wait for it.
export const forwardRoutes = [
  route({
    method: "get",
    path: "/api/forwards",
    id: "listForwards",
    summary: "List the forwarded ports",
    description: "By device, protocol and port, with the port of the internet if one is open.",
    tag: "Devices",
    answers: answers(ForwardList, "the forwarded ports, by device, protocol and port"),
    together: "shared",
    run: async ({ forwards }) => ({ forwards: await forwards.list() }),
  }),
  route({
    method: "put",
    path,
    id: "setForward",
    summary: "Forward a port of the internet to a device",
    description:
      "It is kept over restarts and in backups. `state` says whether the port is open now, and `error` why it is not.",
    tag: "Devices",
    params,
    body: ForwardChange,
    example: { external: 51413 },
    answers: answers(
      Forward,
      "the forward is kept; `state` says whether the port is open now, and `error` why it is not",
    ),
    limit: "connection",
    run: ({ forwards }, { params, body }) => forwards.put({ ...params, port: Number(params.port) }, body),
  }),
  route({
    method: "delete",
    path,
    id: "removeForward",
    summary: "Close a forwarded port",
    description: "It is closed even if that cannot be saved.",
    tag: "Devices",
    params,
    answers: DONE,
    limit: "connection",
    run: ({ forwards }, { params }) => forwards.remove({ ...params, port: Number(params.port) }),
  }),
];
