import { messageOf } from "../../base/errors.ts";
import { generateKeyPair, publicKeyOf } from "../../wireguard/key.ts";
import { outcome } from "../answers.ts";
import type { Account, AccountDeps } from "../provider.ts";
import { refused } from "../refusals.ts";
import type { LoggedOut, ShownAccount } from "../schema.ts";
import type { MullvadApi, MullvadSession } from "./api.ts";
import { DEVICES_PAGE, isFinal } from "./refusal.ts";
import { type MullvadRegistration, registrationFrom } from "./registration.ts";
import { rotated, settled } from "./rotation.ts";
import { shownAccount } from "./shown.ts";

interface Deps extends Pick<AccountDeps, "slot" | "assertUnused" | "changed"> {
  api: MullvadApi;
}

/** The gateway's registration with the operator's account. */
export class MullvadAccount implements Account {
  constructor(private readonly deps: Deps) {}

  async logIn([number = ""]: readonly string[]): Promise<ShownAccount> {
    const session = await this.deps.api.open(number);
    const registration = await this.register(session, number);
    await this.deps.changed();
    return fresh(session, registration);
  }

  async show(): Promise<ShownAccount> {
    const registration = this.registration();
    const session = await outcome(this.deps.api.open(registration.number));
    return session instanceof Error
      ? shownAccount(registration, session, session)
      : this.shown(session, registration);
  }

  async logOut(forget: boolean): Promise<LoggedOut> {
    const { slot, api, assertUnused, changed } = this.deps;
    const registration = this.registration();
    assertUnused();
    const { number, id, name } = registration;
    const session = await outcome(api.open(number));
    // A connect may have come in between.
    assertUnused();
    const failure = session instanceof Error ? session : await outcome(session.remove(id));
    if (failure instanceof Error && !forget) throw refused("logout_failed", { reason: failure.message });
    slot.forget();
    await changed();
    return { device: name, remains: failure instanceof Error ? remainsOf(registration, failure) : null };
  }

  async rotateKey(): Promise<ShownAccount> {
    const { api, assertUnused, changed } = this.deps;
    const registration = this.registration();
    assertUnused();
    const session = await api.open(registration.number);
    assertUnused();
    const next = await rotated(session, registration, (each) => this.save(each));
    await changed();
    return fresh(session, next);
  }

  /** A failure after the request to the provider leaves no registration behind. */
  private async register(session: MullvadSession, number: string): Promise<MullvadRegistration> {
    const { privateKey, publicKey } = generateKeyPair();
    try {
      const { id, name, addresses, created } = await session.add(publicKey);
      const registration = { number, id, name, privateKey, addresses, created };
      this.deps.slot.saveFirst(JSON.stringify(registration));
      return registration;
    } catch (error) {
      if (isFinal(error)) throw error;
      throw await withoutDevice(session, publicKey, error);
    }
  }

  /** Also finds out which of two keys the provider has. */
  private async shown(session: MullvadSession, registration: MullvadRegistration): Promise<ShownAccount> {
    const paid = await outcome(session.paidUntil());
    const device = await outcome(session.device(registration.id));
    if (device === null || device instanceof Error) return shownAccount(registration, paid, device);
    const known = settled(registration, device);
    if (!Bun.deepEquals(known, registration)) {
      await this.save(known);
      await this.deps.changed();
    }
    return shownAccount(known, paid, device);
  }

  private registration(): MullvadRegistration {
    const registration = registrationFrom(this.deps.slot.read() ?? "");
    if (registration === null)
      throw refused("account_unreadable", { page: DEVICES_PAGE, registration: "registration" });
    return registration;
  }

  private save(registration: MullvadRegistration): Promise<void> {
    return this.deps.slot.save(JSON.stringify(registration));
  }
}

/** The registration as the provider has just confirmed it. */
async function fresh(session: MullvadSession, registration: MullvadRegistration): Promise<ShownAccount> {
  const device = { publicKey: publicKeyOf(registration.privateKey) };
  return shownAccount(registration, await outcome(session.paidUntil()), device);
}

/** The error, once the new registration is removed at the provider again, or the steps that are left to do. */
async function withoutDevice(session: MullvadSession, publicKey: string, error: unknown): Promise<unknown> {
  try {
    const devices = await session.devices();
    for (const { id, pubkey } of devices) if (pubkey === publicKey) await session.remove(id);
    return error;
  } catch {
    return refused("registration_left", {
      ...{ reason: messageOf(error), registration: "registration", page: DEVICES_PAGE },
    });
  }
}

function remainsOf({ name }: MullvadRegistration, { message }: Error): string {
  return `the registration "${name}" is still in the account, because ${message}; remove it at ${DEVICES_PAGE}`;
}
