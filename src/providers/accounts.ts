import { GatewayError } from "../errors.ts";
import { Queue } from "../queue.ts";
import type { Settings } from "../settings.ts";
import type { Store } from "../store/store.ts";
import type { Host, Send } from "../system/host.ts";
import { apiOf } from "./addresses.ts";
import { isGiven } from "./own-end.ts";
import type { Account, LoggedOut, ShownAccount, VpnProvider } from "./provider.ts";
import type { Registrations } from "./registrations.ts";

interface Deps {
  settings: Settings;
  store: Pick<Store, "scrub">;
  registrations: Registrations;
  send: Send;
  host: Pick<Host, "now">;
  /** Whether a tunnel of the managed provider is up, or will come back. */
  inUse: () => boolean;
  /** Makes managed servers use the registration in the store. */
  takeUp: () => Promise<void>;
}

/** The operator's account, at whichever provider. */
export class Accounts {
  /** One thing at a time: each reads the store, asks the provider and writes the store. */
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {}

  /** `provider` is a name; null is the first of the list. */
  logIn(provider: string | null, credentials: readonly string[]): Promise<ShownAccount> {
    return this.queue.add(async () => {
      const { registrations } = this.deps;
      const chosen = providerNamed(registrations.providers, provider);
      const parsed = chosen.credentials.map(({ parse }, index) => parse(credentials[index] ?? ""));
      registrations.assertNone();
      return this.noticed(await this.accountAt(chosen).logIn(parsed));
    });
  }

  show(): Promise<ShownAccount> {
    return this.queue.add(async () => this.noticed(await this.account().show()));
  }

  rotateKey(): Promise<ShownAccount> {
    return this.queue.add(async () => this.noticed(await this.account().rotateKey()));
  }

  logOut(forget: boolean): Promise<LoggedOut> {
    return this.queue.add(() => this.account().logOut(forget));
  }

  private account(): Account {
    const registered = this.deps.registrations.current();
    if (registered !== null) return this.accountAt(registered.provider);
    throw new GatewayError("not_found", "there is no account here; log in with: portcullis account login");
  }

  private accountAt(provider: VpnProvider): Account {
    const { settings, store, registrations, send, host, takeUp } = this.deps;
    return provider.accountWith({
      api: apiOf(settings, provider),
      send,
      slot: registrations.slotOf(provider),
      assertUnused: () => this.assertUnused(),
      changed: () => {
        // Leave no copy of a former key in the file.
        store.scrub();
        return takeUp();
      },
      now: () => host.now(),
    });
  }

  private assertUnused(): void {
    if (!this.deps.inUse()) return;
    throw new GatewayError(
      "unable",
      "a tunnel of the managed provider uses the account; disconnect first: portcullis disconnect",
    );
  }

  private noticed(account: ShownAccount): ShownAccount {
    if (!isGiven(this.deps.settings)) return account;
    return { ...account, warnings: [...account.warnings, OVERRULED] };
  }
}

const OVERRULED = "the account in the settings is used instead: --managed-key-file and --managed-address";

/** Null is the first. Throws `bad_request` for an unknown name. */
export function providerNamed(providers: readonly VpnProvider[], name: string | null): VpnProvider {
  const found = name === null ? providers[0] : providers.find((each) => each.name === name);
  if (found !== undefined) return found;
  const known = providers.map((each) => `${each.name} (${each.label})`).join(", ");
  throw new GatewayError("bad_request", `provider: unknown name; known providers: ${known}`);
}
