import type { Static, TSchema } from "typebox";
import { Value } from "typebox/value";
import { CommandError } from "../base/errors.ts";
import { Refusal } from "../http/answers.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { ownToken } from "./bearer.ts";
import { DEFAULT_URL } from "./defaults.ts";
import { Unreachable } from "./exit.ts";
import { printable } from "./text.ts";

/** The gateway itself closes a request that is silent for a minute. */
const ANSWER_TIMEOUT_MS = 60_000;
/** And for this long, one that may take longer: a connect with several targets, or a speed test. */
export const LONG_ANSWER_TIMEOUT_MS = 255_000;
/** Other clients of the same address may use up a second's allowance, but not for ever. */
const MAX_TRIES = 30;

/** The HTTP interface of a gateway, on this machine or another. */
export class Api {
  readonly origin: string;

  constructor(
    url: string,
    private readonly clock: Pick<Host, "sleep">,
    /** The token that was given. */
    private token: string | null = null,
  ) {
    this.origin = originOf(url);
  }

  get<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>> {
    return this.ask("GET", path, schema);
  }

  post<Schema extends TSchema>(
    path: string,
    schema: Schema,
    body?: object,
    withinMs?: number,
  ): Promise<Static<Schema>> {
    return this.ask("POST", path, schema, body, withinMs);
  }

  put<Schema extends TSchema>(
    path: string,
    schema: Schema,
    body?: object,
    withinMs?: number,
  ): Promise<Static<Schema>> {
    return this.ask("PUT", path, schema, body, withinMs);
  }

  patch<Schema extends TSchema>(path: string, schema: Schema, body: object): Promise<Static<Schema>> {
    return this.ask("PATCH", path, schema, body);
  }

  delete<Schema extends TSchema>(path: string, schema: Schema): Promise<Static<Schema>> {
    return this.ask("DELETE", path, schema);
  }

  /** Throws `GatewayError("unable")` with the gateway's message if it refuses. */
  private async ask<Schema extends TSchema>(
    method: string,
    path: string,
    schema: Schema,
    body?: object,
    withinMs = ANSWER_TIMEOUT_MS,
  ): Promise<Static<Schema>> {
    const response = await this.patiently(method, path, withinMs, body);
    const answer: unknown = await response.json().catch(() => null);
    if (response.ok) return this.read(schema, answer);
    const hint = response.status === 401 && this.token === null ? WITHOUT_TOKEN : "";
    throw new CommandError("unable", `${printable(this.read(Refusal, answer).error)}${hint}`);
  }

  /** The headers of every request and of the WebSocket. */
  get headers(): Record<string, string> {
    return this.token === null ? {} : { authorization: `Bearer ${this.token}` };
  }

  /** Waits and tries again if there were too many requests. */
  private async patiently(method: string, path: string, withinMs: number, body?: object): Promise<Response> {
    for (let tries = 1; ; tries += 1) {
      const response = await this.send(method, path, withinMs, body);
      if (response.status === 401 && this.token === null) {
        this.token = await ownToken(this.origin);
        if (this.token !== null) continue;
      }
      if (response.status !== 429 || tries === MAX_TRIES) return response;
      await this.clock.sleep(Number(response.headers.get("retry-after") ?? 1) * 1_000);
    }
  }

  private async send(method: string, path: string, withinMs: number, body?: object): Promise<Response> {
    try {
      return await fetch(`${this.origin}${path}`, {
        method,
        redirect: "manual",
        // Keys are sent to the gateway, which is on the LAN, so the environment's proxy must not see them.
        proxy: false,
        signal: AbortSignal.timeout(withinMs),
        headers: { ...this.headers, ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
    } catch (cause) {
      throw this.unreachable(reasonOf(cause), cause);
    }
  }

  /** Fields that only a newer gateway sends are left out. */
  private read<Schema extends TSchema>(schema: Schema, answer: unknown): Static<Schema> {
    const known: unknown = Value.Clean(schema, answer);
    if (Value.Check(schema, known)) return known;
    throw this.unreachable("the program that answers there is not a Portcullis gateway");
  }

  unreachable(reason: string, cause?: unknown): Unreachable {
    const hint = LOOPBACK.test(this.origin)
      ? `is the service running? systemctl status portcullis; if this machine is not a gateway yet: ${setupCommand()}`
      : "is the gateway on, and is this machine on its LAN?";
    return new Unreachable(`cannot reach the gateway at ${this.origin}: ${reason}; ${hint}`, { cause });
  }
}

/** What the gateway's message does not say, because it is the same for every client. */
const WITHOUT_TOKEN =
  "; pass it by --token-file, PORTCULLIS_TOKEN_FILE or PORTCULLIS_TOKEN, or use sudo on the gateway";

const LOOPBACK = /^https?:\/\/(localhost|127\.[0-9.]+|\[::1\])(:|$)/;

function originOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.host === "" || url.pathname !== "/") {
    throw new CommandError("bad_request", `--url (PORTCULLIS_URL): must be like ${DEFAULT_URL}`);
  }
  return url.origin;
}

function reasonOf(cause: unknown): string {
  const { code, name } = cause as { code?: unknown; name?: unknown };
  if (code === "ECONNREFUSED" || code === "ConnectionRefused") return "connection refused";
  if (code === "ENOTFOUND") return "no such host";
  if (name === "TimeoutError") return "no answer in time";
  return typeof code === "string" ? code : "the connection was lost";
}
