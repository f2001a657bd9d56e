import { Elysia } from "elysia";
import { Type } from "typebox";
import { Forward, ForwardChange, ForwardList, ForwardProtocol } from "../forwards/schema.ts";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import { DEVICE_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { standardSchema } from "./standard-schema.ts";

const PATH = standardSchema(
  Type.Object(
    {
      device: Type.String({ example: DEVICE_EXAMPLE }),
      protocol: ForwardProtocol,
      port: Type.String({ pattern: "^(0|[1-9][0-9]{0,4})$", description: "1 to 65535", example: "6881" }),
    },
    { additionalProperties: false },
  ),
  "path",
);

export function forwardRoutes(gateway: Gateway) {
  return new Elysia()
    .get("/api/forwards", async () => ({ forwards: await gateway.forwards() }), {
      response: answers(ForwardList, "the forwarded ports, by device, protocol and port"),
      detail: { summary: "List the forwarded ports", tags: ["Devices"] },
    })
    .put(
      "/api/forwards/:device/:protocol/:port",
      ({ params: { device, protocol, port }, body }) =>
        gateway.forward({ device, protocol, port: Number(port) }, body),
      {
        parse: jsonBody,
        params: PATH,
        body: standardSchema({ ...ForwardChange, examples: [{ external: 51413 }] }),
        response: answers(
          Forward,
          "the forward is kept; `state` says whether the port is open now, and `error` why it is not",
        ),
        detail: { summary: "Forward a port of the internet to a device", tags: ["Devices"] },
      },
    )
    .delete(
      "/api/forwards/:device/:protocol/:port",
      async ({ params: { device, protocol, port } }) => {
        await gateway.removeForward({ device, protocol, port: Number(port) });
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: PATH,
        response: answers(Success, "the port is closed"),
        detail: { summary: "Close a forwarded port", tags: ["Devices"] },
      },
    );
}
