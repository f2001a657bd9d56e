import { Elysia } from "elysia";
import { Type } from "typebox";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";

export const KeyPair = Type.Object(
  {
    private_key: Type.String({ description: "base64, 44 characters" }),
    public_key: Type.String({ description: "base64, 44 characters" }),
  },
  { additionalProperties: false },
);

/** The only answer that holds a private key; like every answer without caching of its own it is `no-store`. */
export function keyPairRoutes(gateway: Gateway) {
  return new Elysia().get("/api/keypair", () => gateway.keyPair(), {
    response: answers(KeyPair, "a pair that was generated for this request and is kept nowhere"),
    detail: { summary: "Generate a key pair", tags: ["Keys"] },
  });
}
