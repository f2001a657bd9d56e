import type { HttpsAnswer, HttpsRequest, Send } from "../../system/host.ts";
import { Refusal } from "../answers.ts";
import { refused } from "../refusals.ts";
import { deviceIn, devicesIn, expiryIn, type ListedDevice, type MullvadDevice, tokenIn } from "./answers.ts";
import { refusalIn } from "./refusal.ts";

/** Mullvad's interface for accounts and devices, as its own apps use it. */
export class MullvadApi {
  /** `base` is an https address. */
  constructor(
    private readonly base: string,
    private readonly send: Send,
  ) {}

  /** Throws a `Refusal` if the provider does not know the account. */
  async open(number: string): Promise<MullvadSession> {
    const answer = await this.ask("POST", "/auth/v1/token", { body: { account_number: number } });
    const token = tokenIn(succeeded(answer));
    return new MullvadSession((method, path, body) =>
      this.ask(method, `/accounts/v1${path}`, { token, ...(body !== undefined && { body }) }),
    );
  }

  private ask(
    method: HttpsRequest["method"],
    path: string,
    { token, body }: { token?: string; body?: object },
  ): Promise<HttpsAnswer> {
    return this.send({
      url: `${this.base.replace(/\/+$/, "")}${path}`,
      method,
      headers: {
        accept: "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}

type Ask = (method: HttpsRequest["method"], path: string, body?: object) => Promise<HttpsAnswer>;

/** Access to an account; its token is valid for a day. */
export class MullvadSession {
  constructor(private readonly ask: Ask) {}

  /** Until when the account is paid, ISO 8601. */
  async paidUntil(): Promise<string> {
    return expiryIn(succeeded(await this.ask("GET", "/accounts/me")));
  }

  async devices(): Promise<ListedDevice[]> {
    return devicesIn(succeeded(await this.ask("GET", "/devices")));
  }

  /** Null if the account has no such device. */
  async device(id: string): Promise<MullvadDevice | null> {
    const answer = await this.ask("GET", `/devices/${encodeURIComponent(id)}`);
    return isGone(answer) ? null : deviceIn(succeeded(answer));
  }

  /** Without `hijack_dns`: the gateway sends DNS into the tunnel itself. */
  async add(publicKey: string): Promise<MullvadDevice> {
    const body = { pubkey: publicKey, hijack_dns: false };
    return withKey(publicKey, succeeded(await this.ask("POST", "/devices", body)));
  }

  /** Succeeds if the device is already gone. */
  async remove(id: string): Promise<void> {
    const answer = await this.ask("DELETE", `/devices/${encodeURIComponent(id)}`);
    if (!isGone(answer)) succeeded(answer);
  }

  async replaceKey(id: string, publicKey: string): Promise<MullvadDevice> {
    const path = `/devices/${encodeURIComponent(id)}/pubkey`;
    return withKey(publicKey, succeeded(await this.ask("PUT", path, { pubkey: publicKey })));
  }
}

function succeeded(answer: HttpsAnswer): HttpsAnswer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw refusalIn(answer);
}

function isGone(answer: HttpsAnswer): boolean {
  if (answer.status !== 404) return false;
  const refusal = refusalIn(answer);
  return refusal instanceof Refusal && refusal.reason === "DEVICE_NOT_FOUND";
}

function withKey(publicKey: string, answer: HttpsAnswer): MullvadDevice {
  const device = deviceIn(answer);
  if (device.publicKey === publicKey) return device;
  throw refused("provider_other_key");
}
