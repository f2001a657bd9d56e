import { askOperator } from "../operator.ts";
import type { LoggedOut, ManagedAccount } from "../providers/mullvad/account.ts";
import { managedAccountIn } from "../providers/mullvad/live.ts";
import { accountNumberIn } from "../providers/mullvad/number.ts";
import type { ShownAccount } from "../providers/mullvad/shown.ts";
import type { Settings } from "../settings.ts";
import { sendUnguarded } from "../tunnel/https-client.ts";
import { host, type Said } from "./asking.ts";
import { STANDARD_INPUT } from "./defaults.ts";
import { offlineGraph } from "./offline.ts";
import { asRoot } from "./root.ts";
import { readSecret } from "./secret.ts";
import { printable, styled, table } from "./text.ts";

/** Makes a device in the account whose number is typed, or comes on standard input. */
export async function logIn(settings: Settings): Promise<Said> {
  asRoot("account login");
  const number = accountNumberIn(await readSecret(STANDARD_INPUT, "Account number"));
  const live = await askOperator(settings.stateDir, "account/login", { number });
  const account = live?.answer ?? (await alone(settings, (managedAccount) => managedAccount.logIn(number)));
  return saidOf(account, "Logged in; servers of the managed provider can be connected to.");
}

export async function showAccount(settings: Settings): Promise<Said> {
  asRoot("account show");
  const live = await askOperator(settings.stateDir, "account", null);
  return saidOf(live?.answer ?? (await alone(settings, (managedAccount) => managedAccount.show())));
}

export async function logOut(settings: Settings, forget: boolean): Promise<Said> {
  asRoot("account logout");
  const live = await askOperator(settings.stateDir, "account/logout", { forget });
  const out = live?.answer ?? (await alone(settings, (managedAccount) => managedAccount.logOut(forget)));
  return { json: { success: true, ...out }, text: farewell(out) };
}

export async function rotateKey(settings: Settings): Promise<Said> {
  asRoot("account rotate-key");
  const live = await askOperator(settings.stateDir, "account/rotate-key", null);
  const account = live?.answer ?? (await alone(settings, (managedAccount) => managedAccount.rotateKey()));
  return saidOf(account, "The device has another key.");
}

async function alone<T>(
  settings: Settings,
  work: (managedAccount: ManagedAccount) => Promise<T>,
): Promise<T> {
  const graph = await offlineGraph(settings);
  return work(managedAccountIn(graph, sendUnguarded(graph.host)));
}

function saidOf(account: ShownAccount, done = ""): Said {
  return { json: { success: true, ...account }, text: `${done === "" ? "" : `${done}\n`}${textOf(account)}` };
}

function textOf(account: ShownAccount): string {
  const { number, device, addresses, public_key, created, warnings } = account;
  const rows = [
    ["Account", number],
    ["Paid until", paidOf(account)],
    ["Device", `${printable(device)}, since ${dayOf(created)}`],
    ["Addresses", addresses.join(", ")],
    ["Public key", public_key],
  ].map(([name = "", value = ""]) => [styled("dim", name), value]);
  const notes = warnings.map((warning) => `${styled("yellow", "Note")}: ${printable(warning)}\n`);
  return table(rows) + notes.join("");
}

function paidOf({ paid_until }: ShownAccount): string {
  if (paid_until === null) return "not known";
  const days = Math.floor((Date.parse(paid_until) - host.now()) / DAY_MS);
  if (days < 0) return styled("red", `${dayOf(paid_until)}: the time is used up, and no server answers`);
  return `${dayOf(paid_until)} (${days === 1 ? "1 day" : `${days} days`})`;
}

const DAY_MS = 86_400_000;

function dayOf(date: string): string {
  return date.slice(0, "2026-01-02".length);
}

function farewell({ device, remains }: LoggedOut): string {
  const done = `Logged out; the device "${printable(device)}" is ${remains === null ? "removed" : "forgotten here"}.\n`;
  return remains === null ? done : `${done}${styled("yellow", "Note")}: ${printable(remains)}\n`;
}
