import { randomBytes } from "node:crypto";
import type { HttpsAnswer, HttpsRequest } from "../../../src/system/host.ts";
import { FakeSite, json } from "../site.ts";

export const ID = "i-ABCD-EFGH-2345";
/** 2027-01-02. */
const UNTIL = Date.UTC(2027, 0, 2) / 1000;

interface FakeSession {
  key: string;
  address: string;
}

/** IVPN in memory, as its desktop app knows it. */
export class FakeIvpn extends FakeSite {
  /** By token. */
  readonly sessions = new Map<string, FakeSession>();
  limit = 2;
  /** The current code of the second factor; null without one. */
  code: string | null = null;
  wantsCaptcha = false;
  isActive = true;
  /** How often a key was set: each key has an address of its own. */
  private keys = 0;

  answer({ method, url, body = "{}" }: HttpsRequest): HttpsAnswer {
    const sent = JSON.parse(body) as Record<string, unknown>;
    const token = String(sent.session_token);
    switch (`${method} ${new URL(url).pathname}`) {
      case "POST /v4/session/new":
        return this.open(sent);
      case "POST /v4/session/status":
        return this.sessions.has(token) ? json(200, { status: 200, ...this.service }) : GONE;
      case "POST /v4/session/delete":
        return this.sessions.delete(token) ? json(200, { status: 200 }) : GONE;
      case "POST /v4/session/wg/set":
        return this.set(token, String(sent.public_key));
      default:
        return json(404, { status: 404, message: "not found" });
    }
  }

  private get service(): object {
    return { service_status: { is_active: this.isActive, active_until: UNTIL, current_plan: "IVPN Pro" } };
  }

  private open({ username, wg_public_key, confirmation, force }: Record<string, unknown>): HttpsAnswer {
    if (this.wantsCaptcha)
      return json(200, { status: 70001, message: "captcha", captcha_id: "x", captcha_image: "data:" });
    if (username !== ID) return json(401, { status: 401, message: `no account ${username}` });
    if (this.code !== null && confirmation === undefined) return json(200, { status: 70011, message: "2FA" });
    if (this.code !== null && confirmation !== this.code) return json(200, { status: 70012, message: "2FA" });
    if (!this.isActive) return json(200, { status: 702, message: "pay" });
    if (this.sessions.size >= this.limit && force !== true)
      return json(200, { status: 602, message: "limit", data: { limit: this.limit } });
    const token = randomBytes(16).toString("hex");
    const address = this.newAddress();
    this.sessions.set(token, { key: String(wg_public_key), address });
    return json(200, {
      status: 200,
      token,
      vpn_username: "x",
      vpn_password: "y",
      ...this.service,
      wireguard: { status: 200, ip_address: address },
    });
  }

  private set(token: string, key: string): HttpsAnswer {
    const session = this.sessions.get(token);
    if (session === undefined) return GONE;
    session.key = key;
    session.address = this.newAddress();
    return json(200, { status: 200, ip_address: session.address });
  }

  private newAddress(): string {
    this.keys += 1;
    return `172.20.0.${this.keys}`;
  }
}

const GONE = json(200, { status: 601, message: "Session not found" });
