import { masked, type Outcome, outcome } from "../answers.ts";
import type { Account, AccountDeps } from "../provider.ts";
import { refused } from "../refusals.ts";
import type { LoggedOut, ShownAccount } from "../schema.ts";
import type { Subscription } from "./answers.ts";
import { PiaApi } from "./api.ts";
import type { PiaRegistration } from "./registration.ts";
import { newToken, registrationIn, withToken } from "./token.ts";

/** The operator's account at PIA. */
export class PiaAccount implements Account {
  constructor(private readonly deps: AccountDeps) {}

  async logIn([username = "", password = ""]: readonly string[]): Promise<ShownAccount> {
    const { api, send, slot, changed, clock } = this.deps;
    const registration = { username, password, created: new Date(clock.now()).toISOString() };
    const token = await newToken(this.deps, new PiaApi(api, send), registration);
    slot.saveFirst(JSON.stringify(registration));
    await changed();
    return shownAccount(registration, await outcome(new PiaApi(api, send).paid(token)));
  }

  async show(): Promise<ShownAccount> {
    const registration = registrationIn(this.deps.slot);
    const api = new PiaApi(this.deps.api, this.deps.send);
    return shownAccount(registration, await outcome(withToken(this.deps, api, (token) => api.paid(token))));
  }

  async rotateKey(): Promise<never> {
    throw refused("key_of_connection");
  }

  async logOut(): Promise<LoggedOut> {
    const { slot, assertUnused, changed } = this.deps;
    assertUnused();
    const device = nameOf(registrationIn(slot));
    slot.forget();
    slot.token = null;
    await changed();
    return { device, remains: "PIA's servers remove the key of the last connection by themselves" };
  }
}

/** The operator's view of the account. */
export function nameOf({ username }: PiaRegistration): string {
  return `PIA account ${masked(username)}`;
}

function shownAccount(registration: PiaRegistration, paid: Outcome<Subscription>): ShownAccount {
  return {
    number: masked(registration.username),
    device: nameOf(registration),
    public_key: null,
    addresses: [],
    created: registration.created,
    paid_until: paid instanceof Error ? null : paid.until,
    warnings: warningsOf(paid),
  };
}

function warningsOf(paid: Outcome<Subscription>): string[] {
  if (paid instanceof Error) return [`incomplete: ${paid.message}`];
  return paid.isActive ? [] : ["the account is not active, and no server accepts it"];
}
