import { GatewayError } from "../../src/base/errors.ts";
import type { HttpsAnswer, HttpsRequest, Send } from "../../src/system/host.ts";

/** What happens to the next request with a method and a path that ends so. */
interface Mishap {
  on: string;
  /** Replaces the provider's answer; null is no answer. */
  answer: HttpsAnswer | null;
  /** The provider carries out the request, but its answer is lost. */
  done: boolean;
}

/** A provider in memory, some of whose answers go wrong. */
export abstract class FakeSite {
  /** The method and path of every request. */
  readonly asked: string[] = [];
  private readonly mishaps: Mishap[] = [];

  readonly send: Send = async (request) => {
    const { pathname, host } = new URL(request.url);
    const line = `${request.method} ${pathname}`;
    this.asked.push(line);
    const at = this.mishaps.findIndex(({ on }) => matches(line, on));
    const [mishap] = at < 0 ? [] : this.mishaps.splice(at, 1);
    if (mishap === undefined || mishap.done) {
      const answer = this.answer(request);
      if (mishap === undefined) return answer;
    }
    if (mishap.answer !== null) return mishap.answer;
    throw new GatewayError("unable", `${host} cannot be asked: the connection was closed`);
  };

  abstract answer(request: HttpsRequest): HttpsAnswer;

  /** `on` is a method and the end of a path: `POST /devices`. */
  mishap(on: string, answer: Partial<HttpsAnswer> | null, done = false): void {
    this.mishaps.push({
      on,
      done,
      answer: answer === null ? null : { status: 200, headers: {}, body: "", ...answer },
    });
  }
}

export function json(status: number, value: unknown): HttpsAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

function matches(line: string, on: string): boolean {
  const [method = "", path = ""] = on.split(" ");
  return line.startsWith(`${method} `) && line.endsWith(path);
}
