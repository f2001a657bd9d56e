import { randomBytes } from "node:crypto";
import { PIA_AUTHORITY } from "../../../src/providers/pia/authority.ts";
import type { Server } from "../../../src/servers/schema.ts";
import type { HttpsAnswer, HttpsRequest } from "../../../src/system/host.ts";
import { PUBLIC } from "../../servers/example.ts";
import { FakeSite, json } from "../site.ts";

export const USER = "p1234567";
export const PASSWORD = 'a "b" & c=d ';
/** One that registers the gateway. */
export const BERLIN: Server = {
  name: "berlin424",
  provider: "managed",
  label: "PIA",
  country: "Germany",
  city: "Berlin",
  location: "Berlin, Germany",
  config: {
    interface: { privateKey: "", addresses: [], dns: [], searchDomains: [] },
    peer: { publicKey: "", endpoint: { host: "192.0.2.24", port: 1337 }, allowedIps: [] },
  },
  registers: true,
};

/** 2027-01-02. */
const UNTIL = Date.UTC(2027, 0, 2) / 1000;
const DAY_MS = 86_400_000;
/** "About two months". */
const PORT_VALID_MS = 62 * DAY_MS;

/** PIA in memory: its site, and its servers `berlin424` and `paris402`. */
export class FakePia extends FakeSite {
  password = PASSWORD;
  isActive = true;
  /** The site's clock, in milliseconds. */
  now = 0;
  /** When each token was issued. */
  readonly tokens = new Map<string, number>();
  /** The public keys that the servers have, with the addresses they assigned. */
  readonly keys = new Map<string, string>();
  /** Where a server listens for WireGuard; it may change. */
  port = 1337;
  /** The port that it reserves next. */
  nextPort = 47_000;
  readonly signatures = new Map<string, { text: string; port: number; until: number }>();
  /** Each server and port for which a tunnel has asked. */
  readonly bound: string[] = [];

  answer(request: HttpsRequest): HttpsAnswer {
    const { host, pathname } = new URL(request.url);
    switch (`${request.method} ${host}${pathname}`) {
      case "POST www.privateinternetaccess.com/api/client/v2/token":
        return this.issue(new URLSearchParams(request.body));
      case "GET www.privateinternetaccess.com/api/client/v2/account":
        return this.account(request);
      case "GET berlin424:1337/addKey":
      case "GET paris402:1337/addKey":
        return this.add(request);
      case "GET berlin424:19999/getSignature":
      case "GET paris402:19999/getSignature":
        return this.reserve(request);
      case "GET berlin424:19999/bindPort":
      case "GET paris402:19999/bindPort":
        return this.bind(request);
      default:
        return json(404, { message: "not found" });
    }
  }

  /** All tokens are void, as after a change of the password. */
  revoke(): void {
    this.tokens.clear();
  }

  private issue(form: URLSearchParams): HttpsAnswer {
    if (form.get("username") !== USER || form.get("password") !== this.password)
      return json(401, { code: 1, message: "authentication failed" });
    if (!this.isActive) return json(402, { message: "expired" });
    const token = randomBytes(64).toString("hex");
    this.tokens.set(token, this.now);
    return json(200, { token });
  }

  private account({ headers }: HttpsRequest): HttpsAnswer {
    const [, token = ""] = /^Token (.+)$/.exec(headers.authorization ?? "") ?? [];
    if (!this.isValid(token)) return json(401, { message: "invalid token" });
    return json(200, { active: this.isActive, expiration_time: UNTIL, username: USER, plan: "yearly" });
  }

  private add({ url, authority }: HttpsRequest): HttpsAnswer {
    const { searchParams } = new URL(url);
    if (authority !== undefined && authority !== PIA_AUTHORITY)
      throw new Error("another authority than PIA's");
    if (!this.isValid(searchParams.get("pt") ?? ""))
      return json(200, { status: "ERROR", message: "Login failed!" });
    const key = searchParams.get("pubkey") ?? "";
    this.keys.set(key, `10.4.128.${this.keys.size + 2}`);
    return json(200, {
      status: "OK",
      server_key: PUBLIC,
      server_port: this.port,
      server_ip: "198.51.100.24",
      server_vip: "10.4.128.1",
      peer_ip: this.keys.get(key),
      peer_pubkey: key,
      dns_servers: ["10.0.0.243", "10.0.0.242"],
    });
  }

  private reserve({ url, authority }: HttpsRequest): HttpsAnswer {
    if (authority !== undefined && authority !== PIA_AUTHORITY)
      throw new Error("another authority than PIA's");
    if (!this.isValid(new URL(url).searchParams.get("token") ?? ""))
      return json(200, { status: "ERROR", message: "Login failed!" });
    const payload = {
      token: randomBytes(16).toString("base64"),
      port: this.nextPort++,
      expires_at: new Date(this.now + PORT_VALID_MS).toISOString().replace("Z", "123456Z"),
    };
    const text = Buffer.from(JSON.stringify(payload)).toString("base64");
    const signature = randomBytes(64).toString("base64");
    this.signatures.set(signature, { text, port: payload.port, until: this.now + PORT_VALID_MS });
    return json(200, { status: "OK", payload: text, signature });
  }

  private bind({ url }: HttpsRequest): HttpsAnswer {
    const { searchParams, hostname } = new URL(url);
    const signed = this.signatures.get(searchParams.get("signature") ?? "");
    const isGood = signed?.text === searchParams.get("payload") && (signed?.until ?? 0) > this.now;
    if (!isGood || signed === undefined)
      return json(200, { status: "ERROR", message: "failed to parse payload/signature" });
    this.bound.push(`${hostname} ${signed.port}`);
    return json(200, { status: "OK", message: "port scheduled for add" });
  }

  private isValid(token: string): boolean {
    const issued = this.tokens.get(token);
    return issued !== undefined && this.now - issued < DAY_MS;
  }
}
