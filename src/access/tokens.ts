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
import { hashOf, randomText } from "./secret-text.ts";

/** The client that a token was made for. */
export interface TokenHolder {
  /** The same as long as the token exists, and of no other token. */
  id: string;
  name: string;
  readOnly: boolean;
  /** Whether it may do all that root may. */
  isOwner: boolean;
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
    return this.decision.value.map((each) => {
      const { name, read_only, created_at } = each;
      return { name, read_only, created_at, owner: isOwner(each) };
    });
  }

  /** `by` is who has asked for it. */
  add(name: string, readOnly: boolean, by = "root"): Promise<NewToken> {
    return this.make(name, { read_only: readOnly }, by);
  }

  /** `passphrase` is the hash of it. */
  addOwner(name: string, passphrase: string, by: string): Promise<NewToken> {
    return this.make(name, { read_only: false, passphrase }, by);
  }

  private async make(
    name: string,
    may: Pick<StoredToken, "read_only" | "passphrase">,
    by: string,
  ): Promise<NewToken> {
    nameIn("name", name);
    if (redacted(name) !== name) throw refused("name_secret");
    const token = newText();
    const made = { name, ...may, created_at: new Date(this.clock.now()).toISOString() };
    await this.decision.change((tokens) => {
      if (tokens.some((each) => each.name === name)) throw refused("name_exists", { name });
      if (tokens.length >= MAX_TOKENS) throw refused("limit_reached", { of: "tokens", max: MAX_TOKENS });
      this.by = by;
      return [...tokens, { ...made, hash: hashOf(token).toString("hex") }];
    });
    const { read_only, created_at } = made;
    return { name, read_only, created_at, owner: isOwner(made), token };
  }

  /**
   * From now on the token is not valid, and its open sockets are closed, even if that cannot be saved. Then it throws.
   * `mayOwners` is whether it may be one of an owner.
   */
  async remove(name: string, by = "root", mayOwners = true): Promise<void> {
    await this.decision.remove(
      (tokens) => {
        if (!mayOwners && tokens.some((each) => each.name === name && isOwner(each)))
          throw refused("token_of_owner");
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
  find(text: string): TokenHolder | null {
    const hash = hashOf(text);
    let found: TokenHolder | null = null;
    // Root itself has the operator's socket for what owners may.
    if (timingSafeEqual(this.ownHash, hash))
      found = { id: OWN, name: "root", readOnly: false, isOwner: false };
    for (const each of this.decision.value)
      if (timingSafeEqual(Buffer.from(each.hash, "hex"), hash))
        found = { id: each.hash, name: each.name, readOnly: each.read_only, isOwner: isOwner(each) };
    return found;
  }

  /** The hash of the passphrase of an owner; null if the token of this id is not one's, or does not exist. */
  passphraseOf(id: string): string | null {
    return this.decision.value.find(({ hash }) => hash === id)?.passphrase ?? null;
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
    for (const each of tokens.filter((each) => !before.includes(each)))
      this.tell({ what: kindOf(each), token: each.name, by });
  }
}

const OWN = "own";
/** 130 bits. */
const CHARACTERS = 26;

/** `secrets.ts` recognizes the prefix. */
function newText(): string {
  return `portcullis_${randomText(CHARACTERS)}`;
}

function isOwner({ passphrase }: Pick<StoredToken, "passphrase">): boolean {
  return passphrase !== undefined;
}

function kindOf(token: StoredToken): "owner" | "reader" | "writer" {
  return isOwner(token) ? "owner" : token.read_only ? "reader" : "writer";
}

function hashesIn(tokens: readonly StoredToken[]): string[] {
  return tokens.map(({ hash }) => hash);
}

/** Whether somebody owns this gateway; also if that cannot be read. */
export function hasOwner(store: Pick<Texts, "read">): boolean {
  return tokensIn(store)?.some(isOwner) ?? true;
}

/** Null if they are damaged. */
function tokensIn(store: Pick<Texts, "read">): readonly StoredToken[] | null {
  return store.read(TOKENS.key) === null ? [] : TOKENS.read(store);
}
