import type { NewToken, ShownToken, TokenList } from "../access/schema.ts";
import { Tokens } from "../access/tokens.ts";
import { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import { askOperator } from "../operator/operator.ts";
import { Store } from "../store/store.ts";
import { claimGateway } from "../system/claim.ts";
import { setupCommand } from "../system/layout.ts";
import { host, type Output } from "./api-command.ts";
import { notRunning } from "./offline.ts";
import { asRoot } from "./root.ts";
import { list, printable } from "./text.ts";

/** Makes a token. Standard output has only its text, so that it can be written to a file. */
export async function addToken(settings: Settings, name: string, readOnly: boolean): Promise<Output> {
  asRoot("token add");
  const live = await askOperator(settings.stateDir, "token/add", { name, readOnly });
  const { auth, ...made } = live?.answer ?? {
    auth: settings.auth,
    ...(await withTokens(settings, (tokens) => tokens.add(name, readOnly))),
  };
  process.stderr.write(`${sentenceFor(made)}\n${adviceFor(auth)}`);
  return { json: made, text: `${made.token}\n` };
}

export async function listTokens(settings: Settings): Promise<Output> {
  asRoot("token list");
  const live = await askOperator(settings.stateDir, "token", null);
  const shown = live?.answer ?? {
    auth: settings.auth,
    tokens: await withTokens(settings, (tokens) => tokens.list()),
  };
  return { json: shown, text: textOf(shown) };
}

export async function removeToken(settings: Settings, name: string): Promise<Output> {
  asRoot(`token remove ${name}`);
  const live = await askOperator(settings.stateDir, "token/remove", { name });
  if (live === null) await withTokens(settings, (tokens) => tokens.remove(name));
  const text = `Removed the token ${printable(name)}. Requests with it are refused.\n`;
  return { json: { success: true }, text };
}

/** Used while no service runs. */
async function withTokens<T>(settings: Settings, work: (tokens: Tokens) => T | Promise<T>): Promise<T> {
  // A service that is starting or stopping has the tokens in memory.
  await claimGateway(settings, new Log(settings.logLevel));
  const store = Store.open(settings.stateDir, host.now());
  try {
    return await work(new Tokens(store, host));
  } finally {
    store.close();
  }
}

function sentenceFor(token: NewToken): string {
  return `This is the token ${printable(token.name)}, which ${mayOf(token)}. It is not shown again:`;
}

/** Prints the code with which a browser becomes an owner's. */
export async function pairOwner(settings: Settings): Promise<Output> {
  asRoot("pair");
  const json = ((await askOperator(settings.stateDir, "pair", null)) ?? notRunning()).answer;
  const { code, minutes, url, fingerprint } = json;
  return {
    json,
    text: `${code}

Open ${url}
and enter the code within ${minutes} minutes. That browser can then do all that root can; one browser can use it.
The certificate's SHA-256 fingerprint is ${fingerprint}
`,
  };
}

function adviceFor(auth: Settings["auth"]): string {
  return auth === "off"
    ? `No token is needed yet. To require one: ${setupCommand("--auth on")} (or write)\n`
    : "";
}

function textOf({ auth, tokens }: TokenList): string {
  const rows = tokens.map((each) => [printable(each.name), mayOf(each), dateOf(each)]);
  const head = tokens.length === 0 ? "There are no tokens.\n" : list(["Token", "May", "Made"], rows);
  return `${head}${NEEDED[auth]} (--auth ${auth}).\n`;
}

const NEEDED: Record<Settings["auth"], string> = {
  off: "No request needs a token",
  write: "Changes need a token",
  on: "Every request but /health needs a token",
};

function mayOf({ read_only, owner }: Pick<ShownToken, "read_only" | "owner">): string {
  if (owner) return "may do all that root may";
  return read_only ? "may only read" : "may read and change";
}

function dateOf({ created_at }: ShownToken): string {
  return created_at.slice(0, "2026-01-02".length);
}
