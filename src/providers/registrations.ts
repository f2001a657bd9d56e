import { GatewayError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import { VPN_PROVIDERS } from "./list.ts";
import type { Registration, RegistrationSlot, VpnProvider } from "./provider.ts";

/** `damaged`: the stored text is not a registration. It counts as none, but the operator is told. */
export interface Registered {
  provider: VpnProvider;
  registration: Registration | "damaged";
}

/** This gateway's registrations in the store. At most one is used: there is one managed provider at a time. */
export class Registrations {
  constructor(
    private readonly store: Pick<Store, "read" | "write" | "forget" | "atomically">,
    readonly providers: readonly VpnProvider[] = VPN_PROVIDERS,
  ) {}

  /** Null if nobody has logged in. */
  current(): Registered | null {
    const all = this.providers.flatMap((provider) => {
      const text = this.store.read(provider.setting);
      return text === null ? [] : { provider, registration: provider.registrationIn(text) ?? DAMAGED };
    });
    return all.find(({ registration }) => registration !== DAMAGED) ?? all[0] ?? null;
  }

  slotOf({ setting }: VpnProvider): RegistrationSlot {
    const save = (text: string) => this.store.write(setting, text);
    return {
      read: () => this.store.read(setting),
      saveFirst: (text) =>
        // Another process may have logged in at the same time.
        this.store.atomically(() => {
          this.assertNone();
          save(text);
        }),
      save,
      forget: () => this.store.forget(setting),
    };
  }

  assertNone(): void {
    const registration = this.current()?.registration ?? DAMAGED;
    if (registration === DAMAGED) return;
    throw new GatewayError(
      "unable",
      `there already is an account here, with the registration "${registration.name}"; log out first: portcullis account logout`,
    );
  }
}

const DAMAGED = "damaged" as const;

/** The settings of the store that may hold a registration. */
export const ACCOUNT_SETTINGS: readonly string[] = VPN_PROVIDERS.map(({ setting }) => setting);
