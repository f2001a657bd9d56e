import { Elysia } from "elysia";
import { answers } from "./answers.ts";
import type { Gateway } from "./gateway.ts";
import { KeyPair } from "./schema.ts";

/** The only answer with a private key. It is `no-store`, as every answer that sets no caching of its own. */
export function keyPairRoutes(gateway: Gateway) {
  return new Elysia().get("/api/keypair", () => gateway.keyPair(), {
    response: answers(KeyPair, "a pair that was generated for this request and is stored nowhere"),
    detail: { summary: "Generate a key pair", tags: ["Keys"] },
  });
}
