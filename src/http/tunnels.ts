import { Elysia } from "elysia";
import { Type } from "typebox";
import { Provider } from "../servers/schema.ts";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import { TUNNEL_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { namePath, TunnelRows } from "./schema.ts";
import { standardSchema } from "./standard-schema.ts";
import { ViaChoice } from "./tunnel.ts";

const Wanted = standardSchema(
  Type.Object(
    {
      provider: Type.Optional(Provider),
      server: Type.String({
        minLength: 1,
        description: "as in /api/connect, but of `provider` if one is given",
      }),
      via: ViaChoice,
    },
    { additionalProperties: false, examples: [TUNNEL_EXAMPLE] },
  ),
);

const PATH = namePath("tv");

export function tunnelsRoutes(gateway: Gateway) {
  return new Elysia()
    .get("/api/tunnels", async () => ({ tunnels: await gateway.tunnels() }), {
      response: answers(TunnelRows, "all tunnels, `main` first, then by name"),
      detail: { summary: "List the tunnels", tags: ["Tunnels"] },
    })
    .put(
      "/api/tunnels/:name",
      async ({ params, body }) => {
        await gateway.leadTunnel(params.name, body);
        return { success: true as const };
      },
      {
        parse: jsonBody,
        params: PATH,
        body: Wanted,
        response: answers(Success, "the handshake with the server succeeded"),
        detail: {
          summary:
            "Connect a tunnel to a server, or to the nearest one of a place; makes the tunnel if there is none",
          tags: ["Tunnels"],
        },
      },
    )
    .post(
      "/api/tunnels/:name/disconnect",
      async ({ params }) => {
        await gateway.disconnectTunnel(params.name);
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: namePath("main"),
        response: answers(Success, "the tunnel leads nowhere, whether or not it did before"),
        detail: { summary: "Disconnect a tunnel", tags: ["Tunnels"] },
      },
    )
    .delete(
      "/api/tunnels/:name",
      async ({ params }) => {
        await gateway.removeTunnel(params.name);
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: PATH,
        response: answers(Success, "there is no tunnel of this name any more"),
        detail: { summary: "Remove a tunnel other than main", tags: ["Tunnels"] },
      },
    );
}
