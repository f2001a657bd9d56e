import { request } from "node:http";
import type { Answer } from "./lab.ts";

/** As only loopback gives one machine so many; the interface limits what each may ask in a second. */
const ADDRESSES = 200;
let calls = 0;

export interface Question {
  method: string;
  path: string;
  /** As it is sent. */
  body?: string;
  type?: string;
}

/** A request of another client than the one before; null if the service is gone before it has answered. */
export function call(port: number, method: string, path: string, body?: unknown): Promise<Answer | null> {
  calls += 1;
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  return ask(port, `127.0.2.${(calls % ADDRESSES) + 1}`, { method, path, ...text });
}

/** A request from one of loopback's addresses; null if the service is gone before it has answered. */
export function ask(
  port: number,
  localAddress: string,
  { method, path, body, type = "application/json" }: Question,
  signal?: AbortSignal,
): Promise<Answer | null> {
  const headers = body === undefined ? {} : { "content-type": type };
  const { promise, resolve } = Promise.withResolvers<Answer | null>();
  const where = { host: "127.0.0.1", port, localAddress, method, path, headers, agent: false };
  const asked = request({ ...where, ...(signal && { signal }) }, (answer) => {
    let text = "";
    answer.on("data", (data) => {
      text += data;
    });
    answer.on("error", () => resolve(null));
    answer.on("end", () => {
      const status = answer.statusCode ?? 0;
      resolve({ status, body: text.startsWith("{") ? JSON.parse(text) : text });
    });
  });
  asked.on("error", () => resolve(null));
  asked.end(body);
  return promise;
}
