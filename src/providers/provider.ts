import type { Address, Prefix } from "../base/address.ts";
import type { ProviderOpener } from "../forwards/opener.ts";
import type { Host, Send } from "../system/host.ts";
import type { Config } from "../wireguard/schema.ts";
import type { Credentials, LoggedOut, ShownAccount } from "./schema.ts";

/** A company that sells VPN accounts. Everything specific to it is in the folder of its name. */
export interface VpnProvider {
  /** As the operator types it. */
  readonly name: string;
  readonly label: string;
  /** How it opens ports; null if it opens none. */
  readonly ports: ProviderOpener | null;
  /** The secrets that `account login` asks for, in this order. */
  readonly credentials: readonly Credential[];
  /** The https address of its server list, in one of the formats of `servers/lists`. */
  readonly list: string;
  /** The https address of its interface for accounts. */
  readonly api: string;
  /** The setting that holds the registration, in the store and in backups. */
  readonly setting: string;
  /** Null if the text is damaged. A registration's contents reach the kernel's tools. */
  registrationIn(text: string): Registration | null;
  accountWith(deps: AccountDeps): Account;
  /** Only if each server assigns key and addresses when the gateway registers with it. */
  connectionsWith?(deps: ConnectionDeps): Connections;
}

/** One secret that opens an account. */
export interface Credential {
  /** Its name in the HTTP interface. */
  readonly field: keyof Credentials;
  /** The provider's term for it, used as the prompt. */
  readonly name: string;
  /** The secret as the provider wants it. Throws `bad_request` if the text is malformed, without repeating it. */
  parse(text: string): string;
  /** Whether it may be left out; `parse` then gets an empty text. */
  readonly isOptional?: true;
}

/** The part of this gateway's registration with a provider from which tunnels are configured. */
export interface Registration {
  /** The provider's name for it. */
  name: string;
  /** Null if each server assigns key, addresses and resolvers when the gateway registers with it. */
  privateKey: string | null;
  addresses: readonly Prefix[];
  /** The resolvers inside the tunnel. */
  dns: readonly Address[];
}

/** The operator's account at one provider, and this gateway's registration with it. */
export interface Account {
  /** `credentials` are as their `parse` returned them. */
  logIn(credentials: readonly string[]): Promise<ShownAccount>;
  show(): Promise<ShownAccount>;
  /** The registration itself stays in the account. */
  rotateKey(): Promise<ShownAccount>;
  /** With `forget`, the account is removed even if the provider does not answer or refuses. */
  logOut(forget: boolean): Promise<LoggedOut>;
}

/** What a provider does for one connection to a server of its. `send` reaches both. */
export interface Connections {
  /** Registers a new key with the server. */
  registerWith(server: ServerToRegister, send: Send): Promise<Config>;
  /** Makes the server send one port into the tunnel from which `send` asks. */
  forwardPort(server: ServerToRegister, send: Send): Promise<PortOfProvider>;
}

/** A port that the provider sends into a tunnel. */
export interface PortOfProvider {
  port: number;
  /** When the provider gives another one, in milliseconds since 1970. */
  expires: number;
  bindEachMs: number;
}

export interface ServerToRegister {
  name: string;
  address: Address;
}

export interface ConnectionDeps {
  /** The https address of the provider's interface; the settings may override it. */
  api: string;
  slot: RegistrationSlot;
  clock: Pick<Host, "now" | "monotonic">;
}

/** The dependencies of an account. Its methods are called one at a time. */
export interface AccountDeps extends ConnectionDeps {
  send: Send;
  /** Throws while a tunnel uses the account, or if one will after a restart. */
  assertUnused(): void;
  /** Must be called once the slot has changed for good. Managed servers then use its content. */
  changed(): Promise<void>;
}

/** Stores the text of a provider's registration, secrets included. */
export interface RegistrationSlot {
  read(): string | null;
  /** Throws if a registration is already stored, unless that is damaged. */
  saveFirst(text: string): void;
  /** Resolves once it is on the disk: a key is saved before it is sent to the provider. */
  save(text: string): Promise<void>;
  forget(): void;
  /** What the provider has given for the registration, and is kept in memory. */
  token: ProviderToken | null;
}

export interface ProviderToken {
  text: string;
  /** The user name that it belongs to. */
  username: string;
  /** A time of the monotonic clock. */
  since: number;
}
