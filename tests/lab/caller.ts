import { request } from "node:http";
import type { Answer } from "./lab.ts";

/** As only loopback gives one machine so many; the interface limits what each may ask in a second. */
const ADDRESSES = 200;
let calls = 0;

/** A request of another client than the one before; null if the service is gone before it has answered. */
export function call(port: number, method: string, path: string, body?: unknown): Promise<Answer | null> {
  calls += 1;
  const localAddress = `127.0.2.${(calls % ADDRESSES) + 1}`;
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const { promise, resolve } = Promise.withResolvers<Answer | null>();
  const options = { host: "127.0.0.1", port, localAddress, method, path, headers, agent: false };
  const asked = request(options, (answer) => {
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
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}
