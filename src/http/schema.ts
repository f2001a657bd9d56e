import { Type } from "typebox";
import { Provider, ServerTree } from "../servers/schema.ts";
import { TunnelRow } from "../tunnel/schema.ts";
import { standardSchema } from "./standard-schema.ts";

/** GET /api/providers. */
export const Providers = Type.Object(
  { providers: Type.Array(Provider), current: Provider },
  { additionalProperties: false },
);

/** POST /api/provider/:provider. */
export const Switched = Type.Object(
  { success: Type.Literal(true), provider: Provider },
  { additionalProperties: false },
);

/** GET /api/servers. */
export const Servers = Type.Object(
  { servers: ServerTree, provider: Provider },
  { additionalProperties: false },
);

/** A server's name as a path parameter. */
export function namePath(example: string) {
  return standardSchema(
    Type.Object({ name: Type.String({ example }) }, { additionalProperties: false }),
    "path",
  );
}

/** POST /api/disconnect. */
export const Disconnected = Type.Object(
  { success: Type.Literal(true), message: Type.String() },
  { additionalProperties: false },
);

/** GET /api/tunnels. */
export const TunnelRows = Type.Object({ tunnels: Type.Array(TunnelRow) }, { additionalProperties: false });

/** POST /api/import. */
export const Imported = Type.Object(
  {
    success: Type.Literal(true),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description: "settings of the file that have no effect or that the gateway handles in its own way",
      }),
    ),
  },
  { additionalProperties: false },
);

/** GET /api/keypair. */
export const KeyPair = Type.Object(
  {
    private_key: Type.String({ description: "base64, 44 characters" }),
    public_key: Type.String({ description: "base64, 44 characters" }),
  },
  { additionalProperties: false },
);
