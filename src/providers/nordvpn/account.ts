import { type Static, Type } from "typebox";
import type { Prefix } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import { objectOf } from "../../base/object.ts";
import { publicKeyOf } from "../../wireguard/key.ts";
import { isKey } from "../../wireguard/key-text.ts";
import { Config } from "../../wireguard/schema.ts";
import { masked } from "../answers.ts";
import type { Account, AccountDeps } from "../provider.ts";
import { refused } from "../refusals.ts";
import type { LoggedOut, ShownAccount } from "../schema.ts";
import { keyFrom, TOKEN_PAGE } from "./api.ts";

/** The account's key, which is a secret; the access token itself is not kept. */
const Stored = objectOf({
  /** The access token, masked. */
  token: Type.String({ pattern: "^[*]{60}[0-9a-fA-F]{4}$" }),
  privateKey: Config.properties.interface.properties.privateKey,
  /** ISO 8601. */
  created: Type.String({ pattern: "^[0-9TZ:.+-]{1,40}$" }),
});
type NordRegistration = Static<typeof Stored>;

const schema = checkerOf(Stored);

/** Null if the text is not a registration: its key reaches the kernel's tools. */
export function registrationFrom(text: string): NordRegistration | null {
  const value = schema.read(text);
  return value !== null && isKey(value.privateKey) ? value : null;
}

/** NordVPN does not name it. */
export const KEY_NAME = "NordVPN key";

/** The operator's account at NordVPN, which assigns one key to an account. */
export class NordAccount implements Account {
  constructor(
    private readonly deps: AccountDeps,
    private readonly addresses: readonly Prefix[],
  ) {}

  async logIn([token = ""]: readonly string[]): Promise<ShownAccount> {
    const { api, send, slot, changed, clock } = this.deps;
    const privateKey = await keyFrom(api, send, token);
    const created = new Date(clock.now()).toISOString();
    slot.saveFirst(JSON.stringify({ token: masked(token), privateKey, created }));
    await changed();
    return this.show();
  }

  async show(): Promise<ShownAccount> {
    const registration = registrationFrom(this.deps.slot.read() ?? "");
    if (registration === null) throw refused("account_unreadable", { page: "none", registration: "" });
    const { token, privateKey, created } = registration;
    return {
      number: token,
      device: KEY_NAME,
      public_key: publicKeyOf(privateKey),
      addresses: [...this.addresses],
      created,
      paid_until: null,
      warnings: [],
    };
  }

  async rotateKey(): Promise<never> {
    throw refused("key_assigned");
  }

  async logOut(): Promise<LoggedOut> {
    const { slot, assertUnused, changed } = this.deps;
    assertUnused();
    slot.forget();
    await changed();
    return { device: KEY_NAME, remains: `NordVPN keeps the key; revoke the access token at ${TOKEN_PAGE}` };
  }
}
