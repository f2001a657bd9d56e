import { GatewayError, messageOf } from "../../errors.ts";
import type { Store } from "../../store/store.ts";
import { generateKeyPair, publicKeyOf } from "../../wireguard/key.ts";
import type { MullvadAccount, MullvadApi } from "./api.ts";
import { accountNumberIn } from "./number.ts";
import { DEVICES_PAGE, isFinal } from "./refusal.ts";
import { ACCOUNT, type Registration, storedRegistration } from "./registration.ts";
import { rotated, settled } from "./rotation.ts";
import { type Outcome, type ShownAccount, shownAccount } from "./shown.ts";

interface Deps {
  store: Store;
  api: MullvadApi;
  /** Whether a tunnel of the managed provider is up, or is to come back. */
  inUse: () => boolean;
  /** Takes up the device that is in the store now. */
  changed: () => Promise<void>;
  /** A sentence that belongs to whatever is shown. */
  notice: string | null;
}

export interface LoggedOut {
  device: string;
  /** One sentence where the device is still in the account. */
  remains: string | null;
}

/** The gateway's device in the operator's account: made, shown, given another key, removed. */
export class ManagedAccount {
  /** One thing at a time: each reads the store, asks the provider and writes the store. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly deps: Deps) {}

  logIn(text: string): Promise<ShownAccount> {
    return this.inTurn(async () => {
      const number = accountNumberIn(text);
      refuseSecond(this.deps.store);
      const account = await this.deps.api.open(number);
      const device = await this.register(account, number);
      await this.deps.changed();
      return this.fresh(account, device);
    });
  }

  show(): Promise<ShownAccount> {
    return this.inTurn(async () => {
      const device = this.device();
      const account = await outcome(this.deps.api.open(device.number));
      return account instanceof Error
        ? this.noticed(shownAccount(device, account, account))
        : this.shown(account, device);
    });
  }

  /** With `forget` also where the provider cannot be asked or refuses. */
  logOut(forget: boolean): Promise<LoggedOut> {
    return this.inTurn(async () => {
      const device = this.device();
      this.refuseInUse();
      const { number, id, name } = device;
      const account = await outcome(this.deps.api.open(number));
      // Somebody may have connected meanwhile.
      this.refuseInUse();
      const failure = account instanceof Error ? account : await outcome(account.remove(id));
      if (failure instanceof Error && !forget)
        throw unable(
          `${failure.message}; nothing was changed; with --forget the account is forgotten here alone`,
        );
      this.deps.store.forget(ACCOUNT);
      this.deps.store.scrub();
      await this.deps.changed();
      return { device: name, remains: failure instanceof Error ? remainsOf(device, failure) : null };
    });
  }

  /** The device keeps its place in the account. */
  rotateKey(): Promise<ShownAccount> {
    return this.inTurn(async () => {
      const device = this.device();
      this.refuseInUse();
      const account = await this.deps.api.open(device.number);
      this.refuseInUse();
      const next = await rotated(account, device, (each) => this.save(each));
      await this.takeUp();
      return this.fresh(account, next);
    });
  }

  /** What fails after the provider has been asked for a device leaves none behind. */
  private async register(account: MullvadAccount, number: string): Promise<Registration> {
    const { privateKey, publicKey } = generateKeyPair();
    try {
      const { id, name, addresses, created } = await account.add(publicKey);
      const device = { number, id, name, privateKey, addresses, created };
      this.deps.store.atomically(() => {
        refuseSecond(this.deps.store);
        this.save(device);
      });
      return device;
    } catch (error) {
      if (isFinal(error)) throw error;
      throw await withoutDevice(account, publicKey, error);
    }
  }

  /** Settles on the way which of two keys the provider has. */
  private async shown(account: MullvadAccount, device: Registration): Promise<ShownAccount> {
    const paid = await outcome(account.paidUntil());
    const provided = await outcome(account.device(device.id));
    if (provided === null || provided instanceof Error)
      return this.noticed(shownAccount(device, paid, provided));
    const known = settled(device, provided);
    if (!Bun.deepEquals(known, device)) {
      this.save(known);
      await this.takeUp();
    }
    return this.noticed(shownAccount(known, paid, provided));
  }

  /** As the provider has just confirmed it. */
  private async fresh(account: MullvadAccount, device: Registration): Promise<ShownAccount> {
    const provided = { publicKey: publicKeyOf(device.privateKey) };
    return this.noticed(shownAccount(device, await outcome(account.paidUntil()), provided));
  }

  private noticed(account: ShownAccount): ShownAccount {
    const { notice } = this.deps;
    return notice === null ? account : { ...account, warnings: [...account.warnings, notice] };
  }

  private device(): Registration {
    const stored = storedRegistration(this.deps.store);
    if (stored === null)
      throw new GatewayError("not_found", "there is no account here; log in with: portcullis account login");
    if (stored === "damaged") throw unable(DAMAGED);
    return stored;
  }

  private refuseInUse(): void {
    if (this.deps.inUse())
      throw unable(
        "a tunnel of the managed provider uses the account; disconnect first: portcullis disconnect",
      );
  }

  private save(device: Registration): void {
    this.deps.store.write(ACCOUNT, JSON.stringify(device));
  }

  /** After a change of the key; no copy of the former one stays in the file. */
  private takeUp(): Promise<void> {
    this.deps.store.scrub();
    return this.deps.changed();
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work);
    this.last = turn.catch(() => {});
    return turn;
  }
}

const DAMAGED = `the account that is stored cannot be read and is not used; log in anew, which makes another device, and remove the former one at ${DEVICES_PAGE}`;

/** A device that cannot be read is none. */
function refuseSecond(store: Store): void {
  const stored = storedRegistration(store);
  if (stored === null || stored === "damaged") return;
  throw unable(
    `there is an account here already, with the device "${stored.name}"; log out first: portcullis account logout`,
  );
}

/** The error, once the device that nobody knows of is removed at the provider; or what is left to do. */
async function withoutDevice(account: MullvadAccount, publicKey: string, error: unknown): Promise<unknown> {
  try {
    const devices = await account.devices();
    for (const { id, pubkey } of devices) if (pubkey === publicKey) await account.remove(id);
    return error;
  } catch {
    return unable(`${messageOf(error)}; a device of no use may be left in the account: ${DEVICES_PAGE}`);
  }
}

function remainsOf({ name }: Registration, { message }: Error): string {
  return `the device "${name}" is still in the account, because ${message}; remove it at ${DEVICES_PAGE}`;
}

function outcome<T>(work: Promise<T>): Promise<Outcome<T>> {
  return work.catch((error: unknown) => (error instanceof Error ? error : new Error(messageOf(error))));
}

function unable(message: string): GatewayError {
  return new GatewayError("unable", message);
}
