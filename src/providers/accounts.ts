import type { Alarm } from "../base/alert.ts";
import type { Bus } from "../base/bus.ts";
import type { GatewayError } from "../base/errors.ts";
import { Queue } from "../base/queue.ts";
import type { Settings } from "../base/settings.ts";
import type { Managed } from "../servers/schema.ts";
import type { Store } from "../store/store.ts";
import type { Host, Send } from "../system/host.ts";
import type { PastConnections } from "../tunnel/past-connections.ts";
import { apiOf, isGiven } from "./given.ts";
import type { Account, VpnProvider } from "./provider.ts";
import { refused } from "./refusals.ts";
import { nameOf, type Registrations } from "./registrations.ts";
import type { Credentials, LoggedOut, ShownAccount } from "./schema.ts";

interface Deps {
  settings: Settings;
  store: Pick<Store, "scrub">;
  registrations: Registrations;
  send: Send;
  clock: Pick<Host, "now" | "monotonic">;
  /** Whether a tunnel of the managed provider is up, or will come back. */
  inUse: () => boolean;
  /** Makes managed servers use the registration in the store. */
  apply: () => Promise<void>;
  /** Says which account was changed by whom. */
  alarm: Alarm;
  past: Pick<PastConnections, "forgetGone">;
  events: Pick<Bus<AccountEvents>, "publish">;
}

/** The possible values of the provider `managed`, and the present one. */
interface ManagedChoices {
  current: Managed;
  /** Each provider, whether it has an account, and what a login asks for. */
  choices: {
    name: Managed;
    label: string;
    account: boolean;
    credentials: { field: keyof Credentials; title: string; optional: boolean }[];
  }[];
}

export interface AccountEvents {
  account_update: ManagedChoices;
}

/** The author of a change on the gateway itself. */
const ROOT = "root";

/** The operator's accounts, at most one at each provider. */
export class Accounts {
  /** One thing at a time, because each reads the store, asks the provider and writes the store. */
  private readonly queue = new Queue();
  private readonly accounts = new Map<VpnProvider, Account>();

  constructor(private readonly deps: Deps) {}

  /** `name` is a provider's; null is the first of the list. Its servers become the managed ones. `by` is who asks. */
  logIn(name: string | null, credentials: readonly string[], by = ROOT): Promise<ShownAccount> {
    return this.queue.add(async () => {
      const { registrations } = this.deps;
      const provider = providerNamed(registrations.providers, name);
      const parsed = provider.credentials.map(({ parse }, index) => parse(credentials[index] ?? ""));
      registrations.assertNone(provider);
      // If there is a second account, its place in the list must not decide.
      const current = registrations.current();
      if (current.provider !== null && current.registration !== null)
        registrations.choose(nameOf(current.provider));
      const account = await this.accountAt(provider).logIn(parsed);
      if (!this.isCurrent(provider) && current.provider !== null && !this.deps.inUse())
        await this.use(nameOf(provider));
      this.deps.alarm("account_changed", { what: "login", provider: provider.label, by });
      return this.noticed(provider, account);
    });
  }

  /** A provider's name, or null for the current one, or else for the first that has an account here. */
  show(name: string | null): Promise<ShownAccount> {
    return this.with(name, async (account, provider) => this.noticed(provider, await account.show()));
  }

  rotateKey(name: string | null, by = ROOT): Promise<ShownAccount> {
    return this.with(name, async (account, provider) => {
      const shown = await account.rotateKey();
      this.deps.alarm("account_changed", { what: "key", provider: provider.label, by });
      return this.noticed(provider, shown);
    });
  }

  logOut(name: string | null, forget: boolean, by = ROOT): Promise<LoggedOut> {
    return this.with(name, async (account, provider) => {
      const out = await account.logOut(forget);
      this.deps.past.forgetGone("managed");
      const what = out.remains === null ? "logout" : "logout_in_part";
      this.deps.alarm("account_changed", { what, provider: provider.label, by });
      return out;
    });
  }

  /** Makes managed servers use the account in the store, after a change of it. */
  async reload(): Promise<void> {
    await this.deps.apply();
    this.deps.events.publish({ type: "account_update", payload: this.managed() });
  }

  /** Runs work that replaces registrations in the store, while nothing here is between reading and writing one. */
  beside<T>(work: () => Promise<T>): Promise<T> {
    return this.queue.add(work);
  }

  managed(): ManagedChoices {
    const { registrations, settings } = this.deps;
    const choices = registrations.providers.map((provider) => {
      const registration = registrations.of(provider);
      return {
        name: nameOf(provider),
        label: provider.label,
        account: registration !== null && registration !== "damaged",
        credentials: provider.credentials.map(({ field, name, isOptional }) => ({
          field,
          title: name,
          optional: isOptional === true,
        })),
      };
    });
    const list = {
      name: nameOf(null),
      label: "a list of your own",
      account: isGiven(settings),
      credentials: [],
    };
    return { current: nameOf(registrations.current().provider), choices: [...choices, list] };
  }

  /** Makes the servers of a provider, or of the operator's own list, the managed ones. */
  choose(name: Managed): Promise<void> {
    return this.queue.add(async () => {
      if (name === nameOf(this.deps.registrations.current().provider)) return;
      if (this.deps.inUse()) throw refused("managed_in_use");
      await this.use(name);
    });
  }

  private async use(name: Managed): Promise<void> {
    this.deps.registrations.choose(name);
    await this.reload();
  }

  private with<T>(
    name: string | null,
    work: (account: Account, provider: VpnProvider) => Promise<T>,
  ): Promise<T> {
    return this.queue.add(() => {
      const { registrations } = this.deps;
      const named =
        name === null ? registrations.shown()?.provider : providerNamed(registrations.providers, name);
      if (named === undefined || registrations.of(named) === null) throw noAccount(named);
      return work(this.accountAt(named), named);
    });
  }

  private accountAt(provider: VpnProvider): Account {
    const known = this.accounts.get(provider);
    if (known !== undefined) return known;
    const { settings, store, registrations, send, clock } = this.deps;
    const account = provider.accountWith({
      api: apiOf(settings, provider),
      send,
      slot: registrations.slotOf(provider),
      assertUnused: () => {
        if (this.isCurrent(provider)) this.assertUnused();
      },
      changed: async () => {
        // Leave no copy of a former key in the file.
        store.scrub();
        await this.reload();
      },
      clock,
    });
    this.accounts.set(provider, account);
    return account;
  }

  private isCurrent(provider: VpnProvider): boolean {
    return this.deps.registrations.current().provider === provider;
  }

  private assertUnused(): void {
    if (!this.deps.inUse()) return;
    throw refused("account_in_use");
  }

  /** Only the current provider's account is used. */
  private noticed(provider: VpnProvider, account: ShownAccount): ShownAccount {
    if (this.isCurrent(provider)) return account;
    const current = this.deps.registrations.current().provider;
    const instead = current === null ? OVERRULED : `the VPN account's servers are those of ${current.label}`;
    const command = `to use this account: portcullis use ${provider.name}`;
    return { ...account, warnings: [...account.warnings, `${instead}; ${command}`] };
  }
}

const OVERRULED = "the account in the settings is used instead: --managed-key-file and --managed-address";

function noAccount(provider?: VpnProvider): GatewayError {
  const option = provider === undefined ? "" : ` --provider ${provider.name}`;
  return refused("account_none", { provider: provider?.label ?? "any", option });
}

/** Null is the first. Throws `bad_request` for an unknown name. */
export function providerNamed(providers: readonly VpnProvider[], name: string | null): VpnProvider {
  const found = name === null ? providers[0] : providers.find((each) => each.name === name);
  if (found !== undefined) return found;
  const known = providers.map((each) => `${each.name} (${each.label})`).join(", ");
  throw refused("provider_unknown", { known });
}
