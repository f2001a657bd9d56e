import { Elysia } from "elysia";
import { Type } from "typebox";
import { answers, Success } from "./answers.ts";
import { jsonBody, unusedBody } from "./body.ts";
import { CONNECT_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { Disconnected } from "./schema.ts";
import { standardSchema } from "./standard-schema.ts";

const DESCRIPTION =
  "Hostname of a server of the current provider. Or a country or a city, spelled as in /api/servers, or both as " +
  "`City, Country`: the round trips of a few servers there are measured with WireGuard handshakes, and the nearest " +
  "is used. Measurements are valid for ten minutes. If the tunnel already leads to the place, nothing changes.";

/** As in the body of the requests that connect a tunnel. */
export const ViaChoice = Type.Optional(
  Type.String({
    minLength: 1,
    description:
      "Two hops: the server through which `server` is reached, or a country or a city whose nearest server is used for " +
      "it. Both are of the same provider, and the list has to say `multihop` of `server`. Without it, `server` is " +
      "reached directly.",
  }),
);

const Choice = standardSchema(
  Type.Object(
    { server: Type.String({ minLength: 1, description: DESCRIPTION }), via: ViaChoice },
    { additionalProperties: false, examples: [CONNECT_EXAMPLE] },
  ),
);

export function tunnelRoutes(gateway: Gateway) {
  return new Elysia()
    .post(
      "/api/connect",
      async ({ body }) => {
        await gateway.connect(body);
        return { success: true as const };
      },
      {
        parse: jsonBody,
        body: Choice,
        response: answers(Success, "the handshake with the server succeeded"),
        detail: { summary: "Connect to a server, or to the nearest one of a place", tags: ["Tunnel"] },
      },
    )
    .post(
      "/api/disconnect",
      async () => {
        const { killSwitch } = await gateway.disconnect();
        return { success: true as const, message: killSwitch ? BLOCKED : OPEN };
      },
      {
        parse: unusedBody,
        response: answers(Disconnected, "there is no tunnel, whether or not there was one before"),
        detail: { summary: "Disconnect", tags: ["Tunnel"] },
      },
    );
}

const BLOCKED = "Disconnected - No internet (kill switch active)";
const OPEN = "Disconnected";
