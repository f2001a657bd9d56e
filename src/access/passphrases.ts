import { TokenBucket } from "../base/token-bucket.ts";
import { LEAST_PASSPHRASE_CHARACTERS } from "../shared/bounds.ts";
import type { Host } from "../system/host.ts";
import { refused } from "./refusals.ts";
import type { TokenHolder, Tokens } from "./tokens.ts";

/** For machines with little memory (OWASP Password Storage Cheat Sheet). A thread does the work: the service goes on. */
const KDF = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;
const MAX_TRIES = 5;
/** Once these are used up, one more a minute. */
const TRY_AGAIN_EVERY_MS = 60_000;
/** All tries are there again then. */
const HELD_MS = MAX_TRIES * TRY_AGAIN_EVERY_MS;

/** What is kept of the passphrase of a new owner. */
export async function passphraseHash(text: string): Promise<string> {
  if ([...text].length < LEAST_PASSPHRASE_CHARACTERS)
    throw refused("passphrase_short", { min: LEAST_PASSPHRASE_CHARACTERS });
  return Bun.password.hash(composed(text), KDF);
}

/**
 * Asks an owner once more, before the kill switch is opened. It is the passphrase and not a second request that only the
 * same browser can make: a token that was stolen, or a laptop left open, can make that one too.
 */
export class Passphrases {
  private readonly tries = new TokenBucket(MAX_TRIES, TRY_AGAIN_EVERY_MS);
  /** When the last one came that was not right, on the monotonic clock. */
  private triedAt = -Infinity;

  constructor(
    private readonly clock: Pick<Host, "monotonic">,
    private readonly tokens: Pick<Tokens, "passphraseOf">,
    private readonly onWrong: (holder: TokenHolder) => void,
  ) {}

  /** Throws unless it is the passphrase of this owner, who is still one. */
  async confirm(holder: TokenHolder, text: string | undefined): Promise<void> {
    if (text === undefined) throw refused("required", { field: "passphrase" });
    // Before the first wait, so that requests at once do not share a try.
    if (!this.tries.allows(this.clock.monotonic())) throw refused("too_many_passphrases");
    this.triedAt = this.clock.monotonic();
    const known = this.tokens.passphraseOf(holder.id);
    const isRight = known !== null && (await Bun.password.verify(composed(text), known));
    // The owner may have been removed meanwhile.
    if (isRight && this.tokens.passphraseOf(holder.id) === known) {
      this.triedAt = -Infinity;
      return;
    }
    this.onWrong(holder);
    throw refused("owner_passphrase_wrong");
  }

  /** Throws while a wrong passphrase counts. A restart forgets it, and would give a thief of a token all tries again. */
  assertNoneCounts(): void {
    if (this.clock.monotonic() - this.triedAt < HELD_MS)
      throw refused("passphrase_tried", { minutes: HELD_MS / 60_000 });
  }
}

/** Keyboards produce accented letters in more than one Unicode form. */
function composed(text: string): string {
  return text.normalize("NFC");
}
