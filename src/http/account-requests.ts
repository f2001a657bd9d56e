import { Limiter } from "../access/limiter.ts";
import type { Accounts } from "../providers/accounts.ts";
import type { Credentials } from "../providers/schema.ts";
import type { Updated } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { type Client, nameOf } from "./client.ts";
import { refused } from "./refusals.ts";

/** Few enough that nobody can try out passwords, and enough for a person who mistypes one. */
const MAX_LOGINS = 6;
const LOGINS_WITHIN_MS = 60_000;
/** Each waits for a provider, and one after the other. */
const MAX_WAITING = 8;
const MAX_WAITING_PER_CLIENT = 3;

/** What clients of the interface ask of the accounts, within bounds. */
export class AccountRequests {
  private readonly logins = new Limiter(
    { general: MAX_LOGINS, connection: MAX_LOGINS, visit: MAX_LOGINS },
    LOGINS_WITHIN_MS,
  );
  private readonly waiting: string[] = [];

  constructor(
    private readonly accounts: Accounts,
    private readonly fetchList: () => Promise<Updated>,
    private readonly clock: Pick<Host, "monotonic">,
  ) {}

  /** How long this client has to wait before another login, which it counts; 0 if it need not. */
  loginWaitMs({ device }: Client): number {
    const now = this.clock.monotonic();
    const { allowed, resetAt } = this.logins.take(device, "general", now);
    return allowed ? 0 : resetAt - now;
  }

  show(provider: string, client: Client) {
    return this.within(client, () => this.accounts.show(provider));
  }

  logIn(provider: string, given: Credentials, client: Client) {
    const credentials = credentialsFor(this.accounts, provider, given);
    return this.within(client, () => this.accounts.logIn(provider, credentials, nameOf(client)));
  }

  rotateKey(provider: string, client: Client) {
    return this.within(client, () => this.accounts.rotateKey(provider, nameOf(client)));
  }

  logOut(provider: string, forget: boolean, client: Client) {
    return this.within(client, () => this.accounts.logOut(provider, forget, nameOf(client)));
  }

  /** The former list stays if the new one has less than half of its servers: only root may insist. */
  updateServers(client: Client) {
    return this.within(client, this.fetchList);
  }

  private async within<T>(client: Client, work: () => Promise<T>): Promise<T> {
    const who = client.device;
    const { waiting } = this;
    if (
      waiting.length >= MAX_WAITING ||
      waiting.filter((each) => each === who).length >= MAX_WAITING_PER_CLIENT
    )
      throw refused("provider_busy");
    waiting.push(who);
    try {
      return await work();
    } finally {
      waiting.splice(waiting.indexOf(who), 1);
    }
  }
}

/** In the provider's order; empty texts for what may be left out. The errors repeat no value. */
function credentialsFor(accounts: Accounts, provider: string, given: Credentials): string[] {
  const { label, credentials = [] } = accounts.managed().choices.find(({ name }) => name === provider) ?? {};
  const known = credentials.map(({ field }) => field);
  const foreign = Object.keys(given).find((field) => !known.some((each) => each === field));
  if (foreign !== undefined)
    throw refused("credential_foreign", {
      field: foreign,
      provider: label ?? provider,
      known: known.join(" and "),
    });
  return credentials.map(({ field, optional }) => {
    const text = given[field];
    if (text === undefined && !optional) throw refused("required", { field });
    return text ?? "";
  });
}
