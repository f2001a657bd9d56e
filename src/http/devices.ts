import { Elysia } from "elysia";
import { Type } from "typebox";
import { parseAddress, unmapped } from "../base/address.ts";
import { DefaultExit, DeviceChange, DeviceList, OwnDevice } from "../devices/schema.ts";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import { DEVICE_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { standardSchema } from "./standard-schema.ts";

const idPath = standardSchema(
  Type.Object({ id: Type.String({ example: DEVICE_EXAMPLE }) }, { additionalProperties: false }),
  "path",
);

const PUT = {
  parse: jsonBody,
  body: standardSchema({ ...DeviceChange, examples: [{ name: "TV", exit: "blocked" }] }),
  response: answers(
    Success,
    "the device has what was given, and none of its packets leaves by the former exit",
  ),
};
const DELETE = {
  parse: unusedBody,
  response: answers(Success, "the device has no name, exit or address of its own"),
};

export function deviceRoutes(gateway: Gateway) {
  const assign = async (id: string, change: DeviceChange) => {
    await gateway.assignDevice(id, change);
    return { success: true as const };
  };
  const forget = async (id: string) => {
    await gateway.forgetDevice(id);
    return { success: true as const };
  };
  return new Elysia()
    .get("/api/devices", () => gateway.devices(), {
      response: answers(DeviceList, "the devices of the LAN, by id"),
      detail: { summary: "List the devices", tags: ["Devices"] },
    })
    .get(
      "/api/devices/self",
      async ({ request, server }) => {
        const address = server?.requestIP(request)?.address ?? "";
        return { address: shortened(address), device: await gateway.deviceAt(address) };
      },
      {
        response: answers(OwnDevice, "the device that asks"),
        detail: { summary: "Which device is asking", tags: ["Devices"] },
      },
    )
    .put("/api/devices/:id", ({ params: { id }, body }) => assign(id, body), {
      ...PUT,
      params: idPath,
      detail: { summary: "Name a device, or choose its exit or address", tags: ["Devices"] },
    })
    .delete("/api/devices/:id", ({ params: { id } }) => forget(id), {
      ...DELETE,
      params: idPath,
      detail: { summary: "Forget a device's name, exit and address", tags: ["Devices"] },
    })
    .put(
      "/api/default-exit",
      async ({ body }) => {
        await gateway.setDefaultExit(body.exit);
        return { success: true as const };
      },
      {
        parse: jsonBody,
        body: standardSchema({ ...DefaultExit, examples: [{ exit: "blocked" }] }),
        response: answers(Success, "the devices without an exit of their own have this one"),
        detail: { summary: "Choose the exit of all other devices", tags: ["Devices"] },
      },
    );
}

/** An IPv4 peer of a socket for both families has an IPv4-mapped address. */
function shortened(address: string): string {
  const parsed = parseAddress(address);
  return parsed === null ? address : unmapped(parsed);
}
