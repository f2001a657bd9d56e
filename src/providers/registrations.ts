import { Value } from "typebox/value";
import { SavedChoice } from "../base/saved.ts";
import type { Settings } from "../base/settings.ts";
import { Managed, OWN_LIST } from "../servers/schema.ts";
import type { Store } from "../store/store.ts";
import { isGiven } from "./given.ts";
import { VPN_PROVIDERS } from "./list.ts";
import type { Registration, RegistrationSlot, VpnProvider } from "./provider.ts";
import { refused } from "./refusals.ts";

/** `damaged`: the stored text is not a registration. It is not used, but the operator is told. */
export interface Registered {
  provider: VpnProvider;
  registration: Registration | "damaged";
}

/** The source of the managed servers: a provider, or the operator's own list with the key in the settings. */
export type Current =
  | { provider: VpnProvider; registration: Registered["registration"] | null }
  | { provider: null };

/** The operator's choice of the managed provider; without it, an account decides. */
export const MANAGED_PROVIDER = new SavedChoice("managed", "VPN account's provider", "none", (text) =>
  Value.Check(Managed, text),
);

type KeySettings = Pick<Settings, "managedKeyFile" | "managedAddress">;

/** This gateway's registrations in the store: at most one with each provider, of which one is used. */
export class Registrations {
  private readonly slots = new Map<VpnProvider, RegistrationSlot>();

  constructor(
    private readonly store: Pick<Store, "read" | "write" | "forget" | "atomically" | "flushed">,
    private readonly settings: KeySettings,
    readonly providers: readonly [VpnProvider, ...VpnProvider[]] = VPN_PROVIDERS,
  ) {}

  current(): Current {
    const choice = MANAGED_PROVIDER.read(this.store);
    const chosen = this.providers.find(({ name }) => name === choice);
    if (chosen !== undefined) return { provider: chosen, registration: this.of(chosen) };
    if (choice === OWN_LIST || isGiven(this.settings)) return { provider: null };
    return this.first() ?? { provider: this.providers[0], registration: null };
  }

  choose(name: Managed): void {
    MANAGED_PROVIDER.write(this.store, name);
  }

  /** Null if nobody has logged in there. */
  of({ setting, registrationIn }: VpnProvider): Registered["registration"] | null {
    const text = this.store.read(setting);
    return text === null ? null : (registrationIn(text) ?? DAMAGED);
  }

  /** The current provider's account, or else the first that is stored; null if nobody has logged in. */
  shown(): Registered | null {
    const current = this.current();
    if (current.provider === null || current.registration === null) return this.first();
    return { provider: current.provider, registration: current.registration };
  }

  /** Each time the same one. */
  slotOf(provider: VpnProvider): RegistrationSlot {
    const slot = this.slots.get(provider) ?? this.newSlot(provider);
    this.slots.set(provider, slot);
    return slot;
  }

  private newSlot(provider: VpnProvider): RegistrationSlot {
    const { setting } = provider;
    const write = (text: string) => this.store.write(setting, text);
    return {
      token: null,
      read: () => this.store.read(setting),
      saveFirst: (text) =>
        // Another process may have logged in at the same time.
        this.store.atomically(() => {
          this.assertNone(provider);
          write(text);
        }),
      save: async (text) => {
        write(text);
        await this.store.flushed();
      },
      forget: () => this.store.forget(setting),
    };
  }

  assertNone(provider: VpnProvider): void {
    const registration = this.of(provider) ?? DAMAGED;
    if (registration === DAMAGED) return;
    throw refused("account_exists", {
      provider: provider.label,
      name: registration.name,
      command: `portcullis account logout --provider ${provider.name}`,
    });
  }

  /** The first one that can be read, or else the first that is damaged. */
  private first(): Registered | null {
    const all = this.providers.flatMap((provider) => {
      const registration = this.of(provider);
      return registration === null ? [] : { provider, registration };
    });
    return all.find(({ registration }) => registration !== DAMAGED) ?? all[0] ?? null;
  }
}

const DAMAGED = "damaged" as const;

/** The name as the operator types it. A test compares the list of providers with `MANAGED`. */
export function nameOf(provider: VpnProvider | null): Managed {
  return (provider?.name ?? OWN_LIST) as Managed;
}
