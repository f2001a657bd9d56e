import type { Send } from "../system/host.ts";

/** A company at which people have VPN accounts. All that is particular to it is in the folder of its name. */
export interface VpnProvider {
  /** As people type it. */
  readonly name: string;
  readonly label: string;
  /** What opens an account, in the order in which `account login` asks for it. */
  readonly credentials: readonly Credential[];
  /** The https address of the list of its servers, in one of the formats of `servers/lists`. */
  readonly list: string;
  /** The https address of its interface for accounts. */
  readonly api: string;
  /** The setting of the store, and of a backup, that keeps the registration. */
  readonly setting: string;
  /** Null where the text is damaged. What is in a registration reaches the kernel's tools. */
  registrationIn(text: string): Registration | null;
  accountWith(deps: AccountDeps): Account;
}

/** One secret that opens an account. */
export interface Credential {
  /** As the provider calls it: the prompt. */
  readonly name: string;
  /** The secret as the provider wants it. Throws `bad_request`, without repeating the text, where it cannot be one. */
  parse(text: string): string;
}

/** This gateway as a provider knows it, as far as the tunnel's own end is made of it. */
export interface Registration {
  /** The provider's name for it. */
  name: string;
  privateKey: string;
  /** CIDRs. */
  addresses: readonly string[];
  /** The resolvers inside the tunnel. */
  dns: readonly string[];
}

/** The operator's account at one provider, and this gateway's registration there. */
export interface Account {
  /** The credentials as their `parse` returned them. */
  logIn(credentials: readonly string[]): Promise<ShownAccount>;
  show(): Promise<ShownAccount>;
  /** The registration keeps its place in the account. */
  rotateKey(): Promise<ShownAccount>;
  /** With `forget` also where the provider cannot be asked or refuses. */
  logOut(forget: boolean): Promise<LoggedOut>;
}

/** What an account works with. Its methods are called one at a time. */
export interface AccountDeps {
  /** Its interface's https address: the settings may name another than the provider's own. */
  api: string;
  send: Send;
  slot: RegistrationSlot;
  /** Throws while a tunnel uses the account, and where one will after a restart. */
  assertUnused(): void;
  /** To be called when the slot has changed for good: managed servers take up what it holds. */
  changed(): Promise<void>;
}

/** Where the text of a provider's registration is kept, secrets included. */
export interface RegistrationSlot {
  read(): string | null;
  /** Throws where a registration of any provider is kept already, unless it is damaged. */
  saveFirst(text: string): void;
  save(text: string): void;
  forget(): void;
}

/** What the operator is told of the account; no secret is in it. */
export interface ShownAccount {
  /** All but its end hidden. */
  number: string;
  /** The provider's name for this gateway. */
  device: string;
  public_key: string;
  addresses: string[];
  created: string;
  /** ISO 8601; null where the provider could not be asked. */
  paid_until: string | null;
  /** One sentence each. */
  warnings: string[];
}

export interface LoggedOut {
  /** The provider's name for this gateway. */
  device: string;
  /** One sentence where the provider still has the registration. */
  remains: string | null;
}
