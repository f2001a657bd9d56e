import type { GatewayError } from "../../base/errors.ts";
import { messageOf } from "../../base/errors.ts";
import { generateKeyPair, publicKeyOf } from "../../wireguard/key.ts";
import { masked, type Outcome, outcome, Refusal } from "../answers.ts";
import type { Account, AccountDeps } from "../provider.ts";
import { refused } from "../refusals.ts";
import type { LoggedOut, ShownAccount } from "../schema.ts";
import type { IvpnSession, Subscription } from "./answers.ts";
import type { IvpnApi } from "./api.ts";
import { ACCOUNT_PAGE, GONE } from "./refusal.ts";
import { type IvpnRegistration, registrationFrom } from "./registration.ts";

interface Deps extends Pick<AccountDeps, "slot" | "assertUnused" | "changed" | "clock"> {
  api: IvpnApi;
}

/** IVPN does not name its sessions. */
export const SESSION = "IVPN session";

/** The gateway's session with the operator's account. */
export class IvpnAccount implements Account {
  constructor(private readonly deps: Deps) {}

  async logIn([id = "", code = ""]: readonly string[]): Promise<ShownAccount> {
    const { api, changed } = this.deps;
    const { privateKey, publicKey } = generateKeyPair();
    const session = await api.open(id, code, publicKey).catch((error: unknown) => {
      throw error instanceof Refusal ? error : left(error);
    });
    const registration = await this.registered(session, { account: masked(id), privateKey });
    await changed();
    return shownAccount(registration, session.paid);
  }

  async show(): Promise<ShownAccount> {
    const registration = this.registration();
    return shownAccount(registration, await outcome(this.deps.api.paid(registration.token)));
  }

  /**
   * The key is saved before it is sent, and sent again after a failure: whatever happens in between, the provider's key
   * is stored here.
   */
  async rotateKey(): Promise<ShownAccount> {
    const { api, slot, assertUnused, changed } = this.deps;
    const { newKey: unfinished, ...registration } = this.registration();
    assertUnused();
    const { token } = registration;
    const newKey = unfinished ?? generateKeyPair().privateKey;
    await slot.save(JSON.stringify({ ...registration, newKey }));
    const address = await api.replaceKey(token, publicKeyOf(newKey)).catch(async (error: unknown) => {
      if (!(error instanceof Refusal)) throw refused("key_undecided", { reason: messageOf(error) });
      // The provider may have taken a key that was sent before.
      if (unfinished === undefined) await slot.save(JSON.stringify(registration));
      throw error;
    });
    const next = { ...registration, privateKey: newKey, addresses: [address] };
    await slot.save(JSON.stringify(next));
    await changed();
    return shownAccount(next, await outcome(api.paid(token)));
  }

  async logOut(forget: boolean): Promise<LoggedOut> {
    const { slot, api, assertUnused, changed } = this.deps;
    const registration = this.registration();
    assertUnused();
    const failure = await outcome(api.close(registration.token));
    if (failure instanceof Error && !forget) throw refused("logout_failed", { reason: failure.message });
    slot.forget();
    await changed();
    return { device: SESSION, remains: failure instanceof Error ? remainsOf(failure) : null };
  }

  /** Saves the session, or ends it again. */
  private async registered(
    { token, address }: IvpnSession,
    made: Pick<IvpnRegistration, "account" | "privateKey">,
  ): Promise<IvpnRegistration> {
    const { api, slot, clock } = this.deps;
    try {
      if (address === null) throw refused("key_not_accepted");
      const created = new Date(clock.now()).toISOString();
      const registration = { ...made, token, addresses: [address], created };
      slot.saveFirst(JSON.stringify(registration));
      return registration;
    } catch (error) {
      const failure = await outcome(api.close(token));
      throw failure instanceof Error ? left(error) : error;
    }
  }

  private registration(): IvpnRegistration {
    const registration = registrationFrom(this.deps.slot.read() ?? "");
    if (registration === null)
      throw refused("account_unreadable", { page: ACCOUNT_PAGE, registration: "session" });
    return registration;
  }
}

function left(error: unknown): GatewayError {
  return refused("registration_left", {
    ...{ reason: messageOf(error), registration: "session", page: ACCOUNT_PAGE },
  });
}

function remainsOf({ message }: Error): string {
  return `the session is still in the account, because ${message}; remove it at ${ACCOUNT_PAGE}`;
}

function shownAccount(registration: IvpnRegistration, paid: Outcome<Subscription | null>): ShownAccount {
  const { account, privateKey, addresses, created } = registration;
  return {
    number: account,
    device: SESSION,
    public_key: publicKeyOf(privateKey),
    addresses,
    created,
    paid_until: paid instanceof Error ? null : (paid?.until ?? null),
    warnings: warningsOf(registration, paid),
  };
}

function warningsOf({ newKey }: IvpnRegistration, paid: Outcome<Subscription | null>): string[] {
  const unfinished =
    newKey === undefined
      ? []
      : ["a key rotation is unfinished; finish it with: portcullis account rotate-key"];
  if (paid instanceof Error) return [`incomplete: ${paid.message}`, ...unfinished];
  if (paid === null) return [GONE];
  return paid.isActive ? unfinished : ["the account is not active, and no server answers", ...unfinished];
}
