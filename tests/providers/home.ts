import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alertText } from "../../src/base/alert-rows.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { Accounts } from "../../src/providers/accounts.ts";
import { ServerConnections } from "../../src/providers/connections.ts";
import type { VpnProvider } from "../../src/providers/provider.ts";
import { Registrations } from "../../src/providers/registrations.ts";
import { Store } from "../../src/store/store.ts";
import type { Send } from "../../src/system/host.ts";

const START = Date.UTC(2026, 0, 2);

/** A gateway with a store of its own, and the account of one provider. */
export class Home {
  readonly store: Store;
  readonly registrations: Registrations;
  readonly accounts: Accounts;
  readonly connections: ServerConnections;
  inUse = false;
  /** How often managed servers were told to use the registration in the store. */
  changes = 0;
  /** The sentences of the alerts. */
  readonly alerts: string[] = [];
  now = START;

  constructor(
    readonly provider: VpnProvider,
    send: Send,
    readonly directory = mkdtempSync(join(tmpdir(), "portcullis-account-")),
  ) {
    this.store = Store.open(directory, START);
    const settings = settingsFrom({});
    this.registrations = new Registrations(this.store, settings);
    const clock = { now: () => this.now, monotonic: () => this.now };
    const shared = { settings, registrations: this.registrations, clock };
    this.connections = new ServerConnections(shared);
    this.accounts = new Accounts({
      ...shared,
      store: this.store,
      send,
      inUse: () => this.inUse,
      apply: async () => void this.changes++,
      alarm: (code, args) => void this.alerts.push(alertText(code, args)),
      past: { forgetGone: () => {} },
      events: { publish: () => {} },
    });
  }

  logIn(...credentials: string[]) {
    return this.accounts.logIn(this.provider.name, credentials);
  }

  /** The stored text; null without one. */
  get stored(): string | null {
    return this.store.read(this.provider.setting);
  }

  /** Everything that is on the disk. */
  get files(): string {
    const names = readdirSync(this.directory);
    return names.map((name) => readFileSync(join(this.directory, name), "latin1")).join("");
  }

  end(): void {
    this.store.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** The message of the error that the work ends with; null if it succeeds. */
export function failure(work: Promise<unknown>): Promise<string | null> {
  return work.then(
    () => null,
    (error: Error) => error.message,
  );
}
