import type { Account, AccountDeps, Registration, VpnProvider } from "../../src/providers/provider.ts";
import { cidr, ip } from "../fake/address.ts";
import { PRESHARED, PUBLIC } from "../servers/example.ts";

/** A second provider with two credentials, its own resolver and its own list. */
export const second: VpnProvider = {
  name: "second",
  label: "Second VPN",
  ports: null,
  credentials: [
    { field: "user_name", name: "User name", parse: (text) => text.trim() },
    { field: "password", name: "Password", parse: (text) => text },
  ],
  list: "https://second.test/servers",
  api: "https://api.second.test",
  setting: "account second",
  registrationIn: (text) => (text.startsWith("{") ? (JSON.parse(text) as Registration) : null),
  accountWith: (deps) => new SecondAccount(deps),
};

const REGISTRATION: Registration = {
  name: "gateway-1",
  privateKey: PRESHARED,
  addresses: [cidr("10.5.0.2/32")],
  dns: [ip("10.5.0.1")],
};

class SecondAccount implements Account {
  constructor(private readonly deps: AccountDeps) {}

  async logIn([user = "", password = ""]: readonly string[]) {
    const { api, send, slot, changed } = this.deps;
    await send({ url: `${api}/login`, method: "POST", headers: {}, body: `${user}:${password}` });
    slot.saveFirst(JSON.stringify(REGISTRATION));
    await changed();
    return this.show();
  }

  async show() {
    const { name: device, addresses } = REGISTRATION;
    const dates = { created: "2026-01-02T03:04:05.000Z", paid_until: null };
    return { number: "***", device, public_key: PUBLIC, addresses: [...addresses], ...dates, warnings: [] };
  }

  rotateKey() {
    return this.show();
  }

  async logOut() {
    this.deps.assertUnused();
    this.deps.slot.forget();
    await this.deps.changed();
    return { device: REGISTRATION.name, remains: null };
  }
}
