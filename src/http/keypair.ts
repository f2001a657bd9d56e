import { Elysia } from "elysia";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";
import { KeyPair } from "./schema.ts";

/** The only answer that holds a private key; like every answer without caching of its own it is `no-store`. */
export function keyPairRoutes(gateway: Gateway) {
  return new Elysia().get("/api/keypair", () => gateway.keyPair(), {
    response: answers(KeyPair, "a pair that was generated for this request and is kept nowhere"),
    detail: { summary: "Generate a key pair", tags: ["Keys"] },
  });
}
