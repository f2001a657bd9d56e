import type { Send } from "../../system/host.ts";
import type { Config } from "../../wireguard/schema.ts";
import { malformed, masked, type Outcome, outcome, Refusal, unable } from "../answers.ts";
import type { Account, AccountDeps, PortOfProvider, ServerToRegister } from "../provider.ts";
import type { LoggedOut, ShownAccount } from "../schema.ts";
import { type Paid, type SignedPort, signedIn } from "./answers.ts";
import { PiaApi, PORT_REFUSED, TOKEN_REFUSED } from "./api.ts";
import { type PiaRegistration, registrationFrom } from "./registration.ts";

/** The same interval as in PIA's manual-connections. A server forgets the port of a client that is gone. */
const BIND_EACH_MS = 15 * 60_000;
const BOUND_MS = 2 * BIND_EACH_MS;
/** An hour before its end. */
const TOKEN_LASTS_MS = 23 * 3_600_000;

interface Token {
  text: string;
  /** The user name that it belongs to. */
  username: string;
  /** A time of the monotonic clock. */
  since: number;
}

/** The operator's account at PIA. Each connection is registered with its server, by a token that is kept in memory. */
export class PiaAccount implements Account {
  private token: Token | null = null;

  constructor(private readonly deps: AccountDeps) {}

  async logIn([username = "", password = ""]: readonly string[]): Promise<ShownAccount> {
    const { api, send, slot, changed, clock } = this.deps;
    const registration = { username, password, created: new Date(clock.now()).toISOString() };
    const token = await this.newToken(new PiaApi(api, send), registration);
    slot.saveFirst(JSON.stringify(registration));
    await changed();
    return shownAccount(registration, await outcome(new PiaApi(api, send).paid(token)));
  }

  async show(): Promise<ShownAccount> {
    const registration = this.registration();
    const api = new PiaApi(this.deps.api, this.deps.send);
    return shownAccount(registration, await outcome(this.withToken(api, (token) => api.paid(token))));
  }

  async rotateKey(): Promise<never> {
    throw unable("each connection to PIA gets a new key; connect again for another one");
  }

  async logOut(): Promise<LoggedOut> {
    const { slot, assertUnused, changed } = this.deps;
    assertUnused();
    const device = nameOf(this.registration());
    slot.forget();
    this.token = null;
    await changed();
    return { device, remains: "PIA's servers remove the key of the last connection by themselves" };
  }

  registerWith(server: ServerToRegister, send: Send): Promise<Config> {
    const api = new PiaApi(this.deps.api, send);
    return this.withToken(api, (token) => api.register(server, token));
  }

  /** The previous port, as long as PIA reserves it. */
  async forwardPort(server: ServerToRegister, send: Send): Promise<PortOfProvider> {
    const api = new PiaApi(this.deps.api, send);
    const known = this.registration().port;
    if (known !== undefined && isValid(known, this.deps.clock.now())) {
      const bound = await outcome(api.bindPort(server, known));
      if (!(bound instanceof Error)) return portOf(known);
      if (!(bound instanceof Refusal && bound.reason === PORT_REFUSED)) throw bound;
    }
    const port = await this.withToken(api, (token) => api.reservePort(server, token));
    // The operator may have logged out meanwhile.
    await this.deps.slot.save(JSON.stringify({ ...this.registration(), port }));
    await api.bindPort(server, port);
    return portOf(port);
  }

  /** If the token is refused, tries once more with a new one. */
  private async withToken<T>(api: PiaApi, work: (token: string) => Promise<T>): Promise<T> {
    const registration = this.registration();
    const { token } = this;
    const isFresh = token?.username === registration.username && this.ageOf(token) < TOKEN_LASTS_MS;
    if (token === null || !isFresh) return work(await this.newToken(api, registration));
    return work(token.text).catch(async (error: unknown) => {
      if (!(error instanceof Refusal && error.reason === TOKEN_REFUSED)) throw error;
      return work(await this.newToken(api, registration));
    });
  }

  private async newToken(api: PiaApi, { username, password }: PiaRegistration): Promise<string> {
    const text = await api.token(username, password);
    this.token = { text, username, since: this.deps.clock.monotonic() };
    return text;
  }

  private ageOf({ since }: Token): number {
    return this.deps.clock.monotonic() - since;
  }

  private registration(): PiaRegistration {
    const registration = registrationFrom(this.deps.slot.read() ?? "");
    if (registration === null)
      throw unable(
        "there is no readable account at PIA here; type: sudo portcullis account login --provider pia",
      );
    return registration;
  }
}

/** It is reserved for longer than the next binding lasts. */
function isValid(port: SignedPort, now: number): boolean {
  return (signedIn(port)?.expires ?? 0) > now + BOUND_MS;
}

function portOf(port: SignedPort): PortOfProvider {
  const { port: number, expires } = signedIn(port) ?? malformed("port");
  return { port: number, expires, bindEachMs: BIND_EACH_MS };
}

/** The operator's view of the account. */
export function nameOf({ username }: PiaRegistration): string {
  return `PIA account ${masked(username)}`;
}

function shownAccount(registration: PiaRegistration, paid: Outcome<Paid>): ShownAccount {
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

function warningsOf(paid: Outcome<Paid>): string[] {
  if (paid instanceof Error) return [`incomplete: ${paid.message}`];
  return paid.isActive ? [] : ["the account is not active, and no server accepts it"];
}
