import type { Alarm } from "../base/alert.ts";
import { alertText } from "../base/alert-rows.ts";
import type { Settings } from "../base/settings.ts";
import { askOperator } from "../operator/operator.ts";
import { type Accounts, providerNamed } from "../providers/accounts.ts";
import { VPN_PROVIDERS } from "../providers/list.ts";
import type { LoggedOut, ShownAccount } from "../providers/schema.ts";
import { sendUnguarded } from "../tunnel/https-client.ts";
import { host, type Output } from "./api-command.ts";
import { STANDARD_INPUT } from "./defaults.ts";
import { offlineGraph } from "./offline.ts";
import { asRoot } from "./root.ts";
import { readSecret } from "./secret.ts";
import { printable, styled, table } from "./text.ts";

/**
 * Registers the gateway with an account at the named provider, or at the first of the list. The credentials are typed
 * at the terminal or read from standard input, one per line.
 */
export async function logIn(settings: Settings, name: string | null): Promise<Output> {
  asRoot("account login");
  const provider = providerNamed(VPN_PROVIDERS, name);
  const credentials: string[] = [];
  for (const { name, parse, isOptional } of provider.credentials)
    credentials.push(parse(await readSecret(STANDARD_INPUT, name, isOptional)));
  const live = await askOperator(settings.stateDir, "account/login", {
    provider: provider.name,
    credentials,
  });
  const account =
    live?.answer ?? (await offline(settings, (accounts) => accounts.logIn(provider.name, credentials)));
  return saidOf(account, "Logged in. You can now connect to the provider's servers.");
}

export async function showAccount(settings: Settings, provider: string | null): Promise<Output> {
  asRoot("account show");
  const live = await askOperator(settings.stateDir, "account", { provider });
  return saidOf(live?.answer ?? (await offline(settings, (accounts) => accounts.show(provider))));
}

export async function logOut(settings: Settings, provider: string | null, forget: boolean): Promise<Output> {
  asRoot("account logout");
  const live = await askOperator(settings.stateDir, "account/logout", { provider, forget });
  const out = live?.answer ?? (await offline(settings, (accounts) => accounts.logOut(provider, forget)));
  return { json: { success: true, ...out }, text: farewell(out) };
}

export async function rotateKey(settings: Settings, provider: string | null): Promise<Output> {
  asRoot("account rotate-key");
  const live = await askOperator(settings.stateDir, "account/rotate-key", { provider });
  const account = live?.answer ?? (await offline(settings, (accounts) => accounts.rotateKey(provider)));
  return saidOf(account, "This gateway has a new key.");
}

async function offline<T>(settings: Settings, work: (accounts: Accounts) => Promise<T>): Promise<T> {
  const { host, accountsBy, journal } = await offlineGraph(settings);
  const note: Alarm = (code, args) =>
    journal.add({ type: "security_alert", code, args, message: alertText(code, args) });
  try {
    return await work(accountsBy(sendUnguarded(host), note));
  } finally {
    journal.write();
  }
}

function saidOf(account: ShownAccount, done = ""): Output {
  return { json: { success: true, ...account }, text: `${done === "" ? "" : `${done}\n`}${textOf(account)}` };
}

function textOf(account: ShownAccount): string {
  const { number, device, addresses, public_key, created, warnings } = account;
  const rows = [
    ["Account", number],
    ["Paid until", paidOf(account)],
    ["Registration", `${printable(device)}, since ${dayOf(created)}`],
    ...(public_key === null
      ? []
      : [
          ["Addresses", addresses.join(", ")],
          ["Public key", public_key],
        ]),
  ].map(([name = "", value = ""]) => [styled("dim", name), value]);
  const notes = warnings.map((warning) => `${styled("yellow", "Note")}: ${printable(warning)}\n`);
  return table(rows) + notes.join("");
}

function paidOf({ paid_until }: ShownAccount): string {
  if (paid_until === null) return "unknown";
  const days = Math.floor((Date.parse(paid_until) - host.now()) / DAY_MS);
  if (days < 0) return styled("red", `${dayOf(paid_until)}: expired, and no server answers`);
  return `${dayOf(paid_until)} (${days === 1 ? "1 day" : `${days} days`})`;
}

const DAY_MS = 86_400_000;

function dayOf(date: string): string {
  return date.slice(0, "2026-01-02".length);
}

function farewell({ device, remains }: LoggedOut): string {
  const done = `Logged out; the registration "${printable(device)}" ${remains === null ? "was removed from the account" : "was removed here only"}.\n`;
  return remains === null ? done : `${done}${styled("yellow", "Note")}: ${printable(remains)}\n`;
}
