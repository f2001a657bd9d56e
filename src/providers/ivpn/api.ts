import type { Prefix } from "../../base/address.ts";
import type { HttpsAnswer, Send } from "../../system/host.ts";
import { Refusal } from "../answers.ts";
import { type IvpnSession, newAddressIn, paidIn, type Subscription, sessionIn } from "./answers.ts";
import { SESSION_NOT_FOUND, succeeded } from "./refusal.ts";

/** IVPN's interface for sessions, as its desktop app uses it (daemon/api/api.go). */
export class IvpnApi {
  constructor(
    /** An https address. */
    private readonly base: string,
    private readonly send: Send,
  ) {}

  /** Without `force`, which would end the account's sessions on other devices. `code` is empty without a second factor. */
  async open(id: string, code: string, publicKey: string): Promise<IvpnSession> {
    const body = {
      username: id,
      wg_public_key: publicKey,
      force: false,
      ...(code !== "" && { confirmation: code }),
    };
    return sessionIn(await this.ask("/v4/session/new", body));
  }

  /** Null if there is no such session any more. */
  async paid(token: string): Promise<Subscription | null> {
    return unlessGone(this.ask("/v4/session/status", { session_token: token }).then(paidIn));
  }

  /** Succeeds if the session is already gone. */
  async close(token: string): Promise<void> {
    await unlessGone(this.ask("/v4/session/delete", { session_token: token }));
  }

  /** Not called while a tunnel uses the session: `connected_public_key` would then have to be the former key. */
  async replaceKey(token: string, publicKey: string): Promise<Prefix> {
    const body = { session_token: token, public_key: publicKey, connected_public_key: "" };
    return newAddressIn(await this.ask("/v4/session/wg/set", body));
  }

  private async ask(path: string, body: object): Promise<HttpsAnswer> {
    const answer = await this.send({
      url: `${this.base}${path}`,
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return succeeded(answer);
  }
}

async function unlessGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Refusal && error.reason === SESSION_NOT_FOUND) return null;
    throw error;
  }
}
