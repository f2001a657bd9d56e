import { timingSafeEqual } from "node:crypto";
import { Type } from "typebox";
import type { AlertArgs } from "../base/alert-rows.ts";
import { Decision, effectBy, without } from "../base/decision.ts";
import { nameIn } from "../base/name.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import { redacted } from "../base/secrets.ts";
import type { Host } from "../system/host.ts";
import { refused } from "./refusals.ts";
import { type NewToken, type ShownToken, StoredToken } from "./schema.ts";

/** The client that a token was made for. */
export interface TokenOwner {
  /** The same as long as the token exists, and of no other token. */
  id: string;
  name: string;
  readOnly: boolean;
}

/** Each of them is compared at each request. */
const MAX_TOKENS = 100;
/** It is not part of a backup, so that no restore brings back a token that was removed. It is null if it is damaged. */
export const TOKENS = savedJson("tokens", Type.Array(StoredToken, { maxItems: MAX_TOKENS }), null);

/**
 * The tokens that the operator has made. Only their hashes are kept. A token is 130 random bits, which nobody can find
 * from a hash by trying, so it does not need the slow functions that protect passwords.
 */
export class Tokens {
  /** The token of root's own commands on this machine. It is not kept, and each start makes another one. */
  readonly own = newText();
  /** Whether the stored tokens could not be read. None of them is valid then. */
  readonly isDamaged: boolean;
  private readonly ownHash = hashOf(this.own);
  private readonly listeners = new Set<(id: string) => void>();
  private readonly watchers = new Set<(change: AlertArgs<"access_changed">) => void>();
  private readonly decision: Decision<readonly StoredToken[]>;
  /** Those that listeners know. */
  private told: readonly StoredToken[];
  /** Who has asked for the change that is under way. */
  private by = "";

  constructor(
    store: Texts & { atomically(work: () => void): void },
    private readonly clock: Pick<Host, "now" | "monotonic" | "sleep">,
  ) {
    this.isDamaged = tokensIn(store) === null;
    this.decision = new Decision({
      store,
      read: () => tokensIn(store) ?? [],
      write: (_, tokens) => TOKENS.write(store, tokens),
      parts: [{ of: hashesIn, apply: async (tokens) => this.apply(tokens), effect: effectBy(hashesIn) }],
      unsaved: "token",
    });
    this.told = this.decision.value;
  }

  list(): ShownToken[] {
    return this.decision.value.map(({ name, read_only, created_at }) => ({ name, read_only, created_at }));
  }

  /** `by` is who has asked for it. */
  async add(name: string, readOnly: boolean, by = "root"): Promise<NewToken> {
    nameIn("name", name);
    if (redacted(name) !== name) throw refused("name_secret");
    const token = newText();
    const shown = { name, read_only: readOnly, created_at: new Date(this.clock.now()).toISOString() };
    await this.decision.change((tokens) => {
      if (tokens.some((each) => each.name === name)) throw refused("name_exists", { name });
      if (tokens.length >= MAX_TOKENS) throw refused("limit_reached", { of: "tokens", max: MAX_TOKENS });
      this.by = by;
      return [...tokens, { ...shown, hash: hashOf(token).toString("hex") }];
    });
    return { ...shown, token };
  }

  /**
   * From now on the token is not valid, and its open sockets are closed, even if that cannot be saved. Then it throws.
   */
  async remove(name: string, by = "root"): Promise<void> {
    await this.decision.remove(
      (tokens) => {
        this.by = by;
        return without(tokens, (each) => each.name === name);
      },
      refused("token_unknown", { name }),
    );
  }

  /** Saves what could not be saved, until `signal` aborts. */
  watch(signal: AbortSignal): Promise<void> {
    return this.decision.keepSaved(this.clock, signal);
  }

  /**
   * The client that the token was made for; null if it is not valid. The time does not depend on which token it is, or
   * whether it is one.
   */
  find(text: string): TokenOwner | null {
    const hash = hashOf(text);
    let found: TokenOwner | null = null;
    if (timingSafeEqual(this.ownHash, hash)) found = { id: OWN, name: "root", readOnly: false };
    for (const { hash: known, name, read_only } of this.decision.value)
      if (timingSafeEqual(Buffer.from(known, "hex"), hash)) found = { id: known, name, readOnly: read_only };
    return found;
  }

  /** Whether the token of this id still exists. */
  has(id: string): boolean {
    return id === OWN || this.decision.value.some(({ hash }) => hash === id);
  }

  /** Calls the listener with the id of each token that is removed. */
  onRemoved(listener: (id: string) => void): void {
    this.listeners.add(listener);
  }

  /** Calls the listener with a sentence each time that a token was made or removed. */
  onChange(listener: (change: AlertArgs<"access_changed">) => void): void {
    this.watchers.add(listener);
  }

  private tell(change: AlertArgs<"access_changed">): void {
    for (const watcher of this.watchers) watcher(change);
  }

  /** They are valid as soon as they are the value. */
  private apply(tokens: readonly StoredToken[]): void {
    const [before, by] = [this.told, this.by];
    this.told = tokens;
    for (const { name, hash } of before.filter((each) => !tokens.includes(each))) {
      for (const listener of this.listeners) listener(hash);
      this.tell({ what: "removed", token: name, by });
    }
    for (const { name, read_only } of tokens.filter((each) => !before.includes(each)))
      this.tell({ what: read_only ? "reader" : "writer", token: name, by });
  }
}

const OWN = "own";
/** Easy to type: Crockford's base 32, which leaves out letters that look like others. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
/** Each character has 5 bits. */
const CHARACTERS = 26;

/** `secrets.ts` recognizes the prefix. */
function newText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(CHARACTERS));
  return `portcullis_${Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("")}`;
}

function hashOf(text: string): Buffer {
  return new Bun.CryptoHasher("sha256").update(text).digest();
}

function hashesIn(tokens: readonly StoredToken[]): string[] {
  return tokens.map(({ hash }) => hash);
}

/** Null if they are damaged. */
function tokensIn(store: Pick<Texts, "read">): readonly StoredToken[] | null {
  return store.read(TOKENS.key) === null ? [] : TOKENS.read(store);
}
