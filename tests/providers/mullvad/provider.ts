import { randomUUID } from "node:crypto";
import type { HttpsAnswer, HttpsRequest } from "../../../src/system/host.ts";
import { FakeSite, json } from "../site.ts";

export const NUMBER = "1234567890123456";
export const BASE = "https://provider.test";
export const EXPIRY = "2027-01-02T03:04:05.000Z";

export interface FakeDevice {
  id: string;
  name: string;
  pubkey: string;
  hijack_dns: boolean;
  created: string;
  ipv4_address: string;
  ipv6_address: string;
}

/** A provider in memory that speaks Mullvad's documented interface. */
export class FakeProvider extends FakeSite {
  readonly devices = new Map<string, FakeDevice>();
  maxDevices = 5;
  number = NUMBER;
  readonly token = `mva_${randomUUID()}`;

  refuse(on: string, status: number, code: string, headers: Record<string, string> = {}): void {
    this.mishap(on, { status, headers, body: JSON.stringify({ code, detail: `account ${this.number}` }) });
  }

  /** Somebody else's device, or this one's as it was before. */
  put(pubkey: string): FakeDevice {
    const host = this.devices.size + 50;
    const device = {
      id: randomUUID(),
      name: `happy otter ${host}`,
      pubkey,
      hijack_dns: false,
      created: "2026-01-02T03:04:05+00:00",
      ipv4_address: `10.64.0.${host}/32`,
      ipv6_address: `fd64:0::${host}/128`,
    };
    this.devices.set(device.id, device);
    return device;
  }

  answer({ method, url, headers, body }: HttpsRequest): HttpsAnswer {
    const { pathname } = new URL(url);
    const sent = body === undefined ? {} : (JSON.parse(body) as Record<string, unknown>);
    if (`${method} ${pathname}` === "POST /auth/v1/token") {
      if (sent.account_number !== this.number) return refusal(400, "INVALID_ACCOUNT");
      return json(200, { access_token: this.token, expiry: "2026-01-03T03:04:05+00:00" });
    }
    if (headers.authorization !== `Bearer ${this.token}`) return refusal(401, "INVALID_ACCESS_TOKEN");
    const [, path = ""] = /^\/accounts\/v1(\/.*)$/.exec(pathname) ?? [];
    if (`${method} ${path}` === "GET /accounts/me") return json(200, this.me());
    if (`${method} ${path}` === "GET /devices") return json(200, [...this.devices.values()]);
    if (`${method} ${path}` === "POST /devices") return this.create(String(sent.pubkey));
    const [, id = "", rest] = /^\/devices\/([^/]+)(\/pubkey)?$/.exec(path) ?? [];
    const device = this.devices.get(id);
    if (device === undefined) return refusal(404, "DEVICE_NOT_FOUND");
    if (method === "PUT" && rest !== undefined) return this.replace(device, String(sent.pubkey));
    if (method === "GET") return json(200, device);
    if (method !== "DELETE") return refusal(405, "METHOD_NOT_ALLOWED");
    this.devices.delete(id);
    return { status: 204, headers: {}, body: "" };
  }

  private me(): object {
    return {
      id: randomUUID(),
      expiry: EXPIRY,
      max_ports: 0,
      can_add_ports: false,
      max_devices: this.maxDevices,
      can_add_devices: this.devices.size < this.maxDevices,
    };
  }

  private create(pubkey: string): HttpsAnswer {
    if (this.knows(pubkey)) return refusal(400, "PUBKEY_IN_USE");
    if (this.devices.size >= this.maxDevices) return refusal(400, "MAX_DEVICES_REACHED");
    return json(201, this.put(pubkey));
  }

  private replace(device: FakeDevice, pubkey: string): HttpsAnswer {
    if (this.knows(pubkey)) return refusal(400, "PUBKEY_IN_USE");
    device.pubkey = pubkey;
    return json(200, device);
  }

  private knows(pubkey: string): boolean {
    return [...this.devices.values()].some((device) => device.pubkey === pubkey);
  }
}

function refusal(status: number, code: string): HttpsAnswer {
  return json(status, { code, detail: "words for people" });
}
