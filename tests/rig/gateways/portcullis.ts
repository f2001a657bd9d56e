import { killSwitchOn } from "../leaks/boot.ts";
import type { Answer } from "../tools/lab.ts";
import type { Gateway } from "./gateway.ts";

export const PORTCULLIS: Gateway = {
  name: "Portcullis",
  claims: ["a flush"],
  prepare: async () => {},
  boot: ({ lab }) => killSwitchOn(lab),
  start: async ({ lab }) => {
    const service = await lab.startGateway();
    const post = async (path: string, body?: unknown) => succeeded(await service.api("POST", path, body));
    return {
      disconnect: () => post("/api/disconnect"),
      connect: async (number, families) => {
        const { hostname, customBody } = lab.sandbox.servers[number];
        if (families === "IPv4 and IPv6") return post("/api/connect", { server: hostname });
        const [address] = customBody.address.split(",");
        await post("/api/custom/add", { ...customBody, address });
        await post("/api/provider/custom");
        return post("/api/connect", { server: customBody.name });
      },
    };
  },
};

function succeeded({ status, body }: Answer): void {
  if (status !== 200) throw new Error(JSON.stringify(body));
}
