import { type Static, type TSchema, Type } from "typebox";
import { argumentsOf } from "../base/arguments.ts";
import { objectOf } from "../base/object.ts";
import { type StandardSchema, standardSchema } from "./standard-schema.ts";

/** The body of every error, whatever the endpoint and the cause. */
export const Refusal = objectOf({
  success: Type.Literal(false),
  error: Type.String({ description: "what is wrong, as a sentence", examples: ["server is required"] }),
  args: argumentsOf("`what` names the sentence, and a `reason` is in English"),
});

export const Success = objectOf({ success: Type.Literal(true) });

export const UNAUTHORIZED = "a token is needed, or the one that was sent is not valid";

/** The answers of an endpoint under `/api` by status code. */
export function answers<Schema extends TSchema>(ok: Schema, description: string) {
  return { 200: answer(ok, description), ...REFUSALS };
}

/** One answer; Elysia validates it before it is sent. */
export function answer<Schema extends TSchema>(
  schema: Schema,
  description: string,
): Schema & StandardSchema<Static<Schema>> {
  return standardSchema({ ...schema, description }, "answer");
}

/** The same for all endpoints. */
export const REFUSALS = {
  400: answer(Refusal, "bad request: path parameter, content type, size, body or field"),
  401: answer(Refusal, UNAUTHORIZED),
  403: answer(Refusal, "from outside the local network, sent by a page of another site, or read-only token"),
  404: answer(Refusal, "no such path, method or name"),
  429: answer(Refusal, "over the limit of requests per second"),
  500: answer(Refusal, "the gateway could not do it"),
};

/** Of an endpoint that answers only that it is done. */
export const DONE = answers(Success, "it is done");
