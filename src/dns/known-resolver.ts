import { STYLES, type Style } from "./question.ts";

/** A server behind the same address may be another one after this long, or may have been mended. */
const KNOWN_MS = 600_000;
/** For this long, one for which another had to answer is asked after the others, and one without TCP not over TCP. */
const LAST_MS = 60_000;
/** A query may get lost, and the next one too. */
const MISSED = 3;
/** An attacker who has to guess each query does not forge this many answers in another case. */
const OTHER_CASES = 3;
/** A resolver that writes letters in its own way repeats five capitals by chance once in 32 times at most. */
const TELLING_CAPITALS = 5;

/** What is known of a resolver from its answers. */
export class KnownResolver {
  /** The fullest style that it has answered with records. */
  private style: Style | null = null;
  private repeatsCase = false;
  private otherCases = 0;
  private lastUntil = 0;
  private noTcpUntil = 0;
  /** How often in succession it has not answered its usual style, and a plainer one instead. */
  private missed = 0;

  constructor(private readonly since: number) {}

  get hasAnswered(): boolean {
    return this.style !== null;
  }

  isOld(now: number): boolean {
    return now - this.since > KNOWN_MS;
  }

  /** Whether others are asked first. */
  isLast(now: number): boolean {
    return now < this.lastUntil;
  }

  /** To be called when another one had to answer for it. */
  putLast(now: number): void {
    this.lastUntil = now + LAST_MS;
  }

  /** How a question is put to it for the first time, the second, and so on. Records of DNSSEC come only with EDNS. */
  styleOf(time: number, wantsDnssec: boolean): Style {
    const first = this.style === null || wantsDnssec ? 0 : STYLES.indexOf(this.style);
    return STYLES[first + time] ?? "literal";
  }

  /** Whether its empty answer might be due to the style of the query. */
  mayMind(style: Style): boolean {
    return style === "full" ? this.style !== "full" : style === "plain" && !this.hasAnswered;
  }

  /** To be called when it has answered with records. */
  noteAnswer(style: Style): void {
    const isPlainer = this.style !== null && STYLES.indexOf(style) > STYLES.indexOf(this.style);
    this.missed = isPlainer ? this.missed + 1 : 0;
    if (!isPlainer || this.missed >= MISSED) this.style = style;
  }

  /** Whether it has lately not answered over TCP. */
  isWithoutTcp(now: number): boolean {
    return now < this.noTcpUntil;
  }

  noteTcp(hasAnswered: boolean, now: number): void {
    this.noTcpUntil = hasAnswered ? 0 : now + LAST_MS;
  }

  noteCase(query: Uint8Array, isOurs: boolean): void {
    if (!isOurs) this.otherCases += 1;
    else if (capitalsIn(query) >= TELLING_CAPITALS) this.repeatsCase = true;
  }

  /** Whether its answers count whatever their case is. */
  get mayChangeCase(): boolean {
    return !this.repeatsCase && this.otherCases >= OTHER_CASES;
  }
}

function capitalsIn(query: Uint8Array): number {
  return query.reduce((sum, byte) => sum + (byte >= 0x41 && byte <= 0x5a ? 1 : 0), 0);
}
