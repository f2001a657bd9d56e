import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type Answer, answerFrom, request } from "../http/wire.ts";
import { patiently } from "../rig/tools/retried.ts";

/** Built by `scripts/build`, which `scripts/test` runs first. */
export const BINARY = join(import.meta.dir, "../../dist/portcullis");

/** A connect waits 10 s for the handshake, after another connect's 10 s. */
const ANSWERS_WITHIN_MS = 60_000;

let count = 0;

/** Uses a loopback address of its own, so it has rate limits of its own. */
export class Client {
  readonly address: string;

  constructor(private readonly port: number) {
    count += 1;
    this.address = `127.${1 + (process.pid % 250)}.${(count >> 8) & 255}.${count & 255}`;
  }

  send(
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.raw(request(method, path, body, headers));
  }

  /** Sends a request as programs do that obey the limit of requests; returns the status and the body. */
  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Answer["json"] }> {
    const { status, json, text } = await patiently(() =>
      this.send(method, path, body === undefined ? undefined : JSON.stringify(body)),
    );
    return { status, body: json ?? text };
  }

  /** Sends bytes and reads until the server closes the connection; status 0 if nothing was received. */
  async raw(bytes: string | Uint8Array): Promise<Answer> {
    const received: Uint8Array[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = this.open();
    const timer = setTimeout(() => reject(new Error("no answer in time")), ANSWERS_WITHIN_MS);
    socket.on("data", (chunk: Uint8Array) => received.push(chunk));
    socket.on("close", () => resolve());
    // A server that refuses the head does not read the body.
    socket.on("error", (error: NodeJS.ErrnoException) =>
      ["ECONNRESET", "EPIPE"].includes(error.code ?? "") ? resolve() : reject(error),
    );
    socket.write(bytes);
    await promise.finally(() => {
      clearTimeout(timer);
      socket.destroy();
    });
    return answerFrom(Buffer.concat(received).toString());
  }

  /** An open connection, which the caller must close. */
  open(): Socket {
    return connect({ host: "127.0.0.1", port: this.port, localAddress: this.address });
  }
}
