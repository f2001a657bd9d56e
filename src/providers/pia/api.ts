import type { GatewayError } from "../../base/errors.ts";
import type { HttpsAnswer, HttpsRequest, Send } from "../../system/host.ts";
import { generateKeyPair } from "../../wireguard/key.ts";
import type { Config } from "../../wireguard/schema.ts";
import { commonRefusalIn, Refusal } from "../answers.ts";
import type { ServerToRegister } from "../provider.ts";
import { refused } from "../refusals.ts";
import {
  configIn,
  isFailure,
  paidIn,
  type SignedPort,
  type Subscription,
  signedPortIn,
  tokenIn,
} from "./answers.ts";
import { PIA_AUTHORITY } from "./authority.ts";

/** A connect waits for these. */
const ANSWER_WITHIN_MS = 10_000;

/** The reason of a refusal that may not recur with a new token. */
export const TOKEN_REFUSED = "TOKEN_REFUSED";

/** The reason of a refusal that may not recur with another port. */
export const PORT_REFUSED = "PORT_REFUSED";

/** Where a server opens ports, inside the tunnel. */
const FORWARDING_PORT = 19999;

const ACCOUNT_PAGE = "https://www.privateinternetaccess.com/";

/** PIA's interface for accounts, as its manual-connections and its desktop app use it, and that of its servers. */
export class PiaApi {
  constructor(
    /** An https address. */
    private readonly base: string,
    private readonly send: Send,
  ) {}

  /** Valid for 24 hours. */
  async token(username: string, password: string): Promise<string> {
    const answer = await this.ask({
      url: `${this.base}/api/client/v2/token`,
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ username, password }).toString(),
    });
    return tokenIn(succeeded(answer, refused("pia_login_refused")));
  }

  async paid(token: string): Promise<Subscription> {
    const url = `${this.base}/api/client/v2/account`;
    const answer = await this.ask({ url, method: "GET", headers: { authorization: `Token ${token}` } });
    return paidIn(succeeded(answer, refused("pia_token_refused")));
  }

  /** Makes a new key and registers it with a server, whose certificate is from PIA's own authority. */
  async register({ name, address }: ServerToRegister, token: string): Promise<Config> {
    const { privateKey, publicKey } = generateKeyPair();
    const query = new URLSearchParams({ pt: token, pubkey: publicKey });
    const answer = await this.ask({
      url: `https://${name}:${REGISTRATION_PORT}/addKey?${query}`,
      method: "GET",
      headers: {},
      addresses: [address],
      authority: PIA_AUTHORITY,
    });
    const refusal = refused("pia_key_refused", { server: name });
    if (answer.status === 200 && isFailure(answer)) throw new Refusal(TOKEN_REFUSED, refusal);
    return configIn(succeeded(answer, refusal), privateKey, address);
  }

  /** Reserves a port, which is the same on every server. The request goes through the tunnel to this server. */
  async reservePort(server: ServerToRegister, token: string): Promise<SignedPort> {
    const answer = await this.askForPort(server, `getSignature?${new URLSearchParams({ token })}`);
    const refusal = refused("pia_port_refused", { server: server.name });
    if (answer.status === 200 && isFailure(answer)) throw new Refusal(TOKEN_REFUSED, refusal);
    return signedPortIn(succeeded(answer, refusal));
  }

  /** Makes the server send packets for the port into the tunnel, for somewhat longer than a quarter of an hour. */
  async bindPort(server: ServerToRegister, { payload, signature }: SignedPort): Promise<void> {
    const answer = await this.askForPort(server, `bindPort?${new URLSearchParams({ payload, signature })}`);
    const refusal = refused("pia_port_gone", { server: server.name });
    if (answer.status === 200 && isFailure(answer)) throw new Refusal(PORT_REFUSED, refusal);
    succeeded(answer, refusal);
  }

  private askForPort({ name, address }: ServerToRegister, request: string): Promise<HttpsAnswer> {
    return this.ask({
      url: `https://${name}:${FORWARDING_PORT}/${request}`,
      method: "GET",
      headers: {},
      addresses: [address],
      authority: PIA_AUTHORITY,
    });
  }

  private ask(request: HttpsRequest): Promise<HttpsAnswer> {
    const headers = { accept: "application/json", ...request.headers };
    return this.send({ ...request, headers, withinMs: ANSWER_WITHIN_MS });
  }
}

const REGISTRATION_PORT = 1337;

function succeeded(answer: HttpsAnswer, unauthorized: GatewayError): HttpsAnswer {
  const { status } = answer;
  if (status >= 200 && status < 300) return answer;
  const common = commonRefusalIn(answer);
  if (common !== null) throw common;
  if (status === 401 || status === 403) throw new Refusal(TOKEN_REFUSED, unauthorized);
  if (status === 402) throw new Refusal("UNPAID", refused("account_expired", { page: ACCOUNT_PAGE }));
  throw refused("provider_answer_unclear", { status, advice: "later" });
}
