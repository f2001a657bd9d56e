import { type Code, GatewayError } from "../../src/base/errors.ts";

/** The kernel refuses, in the words of the program that asked it. */
export function fail(message: string, code: Code = "kernel_refused"): never {
  throw new GatewayError(code, message);
}

/** The gateway has never sent this before: teach the fake what the real kernel does with it. */
export function unknown(text: string): never {
  throw new Error(`the fake kernel does not know: ${text}`);
}
