import type { Address } from "../base/address.ts";
import { viewOf } from "../base/dns-message.ts";
import { type Answer, RCODE, SHORTEST_TTL_SECONDS } from "./answer.ts";
import type { KnownResolver } from "./known-resolver.ts";
import type { Pending } from "./query-socket.ts";
import { type Question, queryFor, type Style } from "./question.ts";
import { type UpstreamReply, upstreamReplyIn } from "./upstream-reply.ts";

/** A query may get lost; the next one goes to the next resolver. */
const REPEAT_AFTER_MS = [600, 1_200, 2_000, 3_000, 4_000, 5_000];
/** Clients ask again after 5 s, and some take an answer to their first query even then. */
const ANSWERED_WITHIN_MS = 8_000;
/** How long others have to give a better answer than an empty or a shortened one, and than a refusal. */
const [EMPTY_WAITS_MS, REFUSAL_WAITS_MS] = [1_200, 4_000];
/** One that has not answered for this long has let others answer. */
const SILENT_MS = 500;
/** This many queries fail only where nothing listens. */
const MAX_FAILURES = 3;
/** Messages with the id of one query. A resolver that sends more is an attack. */
const MAX_MESSAGES = 16;

/** How resolvers are asked. */
export interface QueryTransport {
  monotonic: () => number;
  known: (address: Address) => KnownResolver;
  /** Returns what forgets the query. */
  overUdp: (address: Address, pending: Pending) => () => void;
  /** The resolver's answer over TCP; null for none. */
  overTcp: (address: Address, query: Uint8Array) => Promise<UpstreamReply | null>;
}

/** What one resolver was asked about the question. */
interface Turn {
  address: Address;
  known: KnownResolver;
  times: number;
  askedAt: number;
  failures: number;
  isAskedOverTcp: boolean;
  /** It is not asked again. */
  isOver: boolean;
}

/** One question, until a resolver has answered it or all have failed. */
export class UpstreamQuery {
  private readonly turns: readonly Turn[];
  private readonly timers: ReturnType<typeof setTimeout>[] = [];
  private readonly forgets: (() => void)[] = [];
  private readonly outcome = Promise.withResolvers<Answer | null>();
  private isSettled = false;
  /** What is passed on if no resolver has a better answer. */
  private fallback: Answer | null = null;

  constructor(
    private readonly question: Question,
    resolvers: readonly Address[],
    private readonly ways: QueryTransport,
  ) {
    const now = ways.monotonic();
    const turns = resolvers.map((address) => ({
      ...{ address, known: ways.known(address), times: 0, askedAt: now, failures: 0 },
      ...{ isAskedOverTcp: false, isOver: false },
    }));
    this.turns = turns.sort((one, other) => Number(one.known.isLast(now)) - Number(other.known.isLast(now)));
  }

  /** Null if no resolver answers. */
  async run(): Promise<Answer | null> {
    for (const ms of REPEAT_AFTER_MS) this.after(ms, () => this.askNext());
    this.after(ANSWERED_WITHIN_MS, () => this.settle(this.fallback));
    this.askNext();
    return this.outcome.promise;
  }

  /** Asks the one that was asked least, the first of these. */
  private askNext(): void {
    const open = this.turns.filter(({ isOver }) => !isOver);
    const least = Math.min(...open.map(({ times }) => times));
    const turn = open.find(({ times }) => times === least);
    if (turn === undefined) this.settle(this.fallback);
    else this.ask(turn);
  }

  private ask(turn: Turn): void {
    if (turn.times === 0) turn.askedAt = this.ways.monotonic();
    const style = turn.known.styleOf(turn.times, this.question.wantsDnssec);
    turn.times += 1;
    const query = queryFor(this.question, style);
    let [messages, isCounted, isRefused] = [0, false, false];
    const hear = (message: Uint8Array) => {
      messages += 1;
      const heard = this.isSettled || messages > MAX_MESSAGES ? null : upstreamReplyIn(message, query);
      // After each refusal it is asked again, so one query has one.
      if (heard === null || (isRefused && heard.says === "refusal")) return;
      isRefused ||= heard.says === "refusal";
      if (!isCounted || heard.isOurCase) turn.known.noteCase(query, heard.isOurCase);
      isCounted = true;
      this.hear(turn, heard, style);
    };
    this.forgets.push(this.ways.overUdp(turn.address, { query, hear, fail: () => this.fail(turn) }));
  }

  private hear(turn: Turn, heard: UpstreamReply, style: Style): void {
    const { says, answer, isOurCase } = heard;
    if (says === "refusal") this.refused(turn, answer, style, REFUSAL_WAITS_MS);
    // It may be forged. Over TCP only someone on the path can, and the true answer might still follow.
    else if (!isOurCase && !turn.known.mayChangeCase) void this.askOverTcp(turn, style);
    else if (says === "truncated") void this.askOverTcp(turn, style, heard);
    else if (answer !== null) this.answered(turn, answer, style);
  }

  private answered(turn: Turn, answer: Answer, style: Style): void {
    const [records, authorities] = [6, 8].map((at) => viewOf(answer.message).getUint16(at));
    const { known } = turn;
    if (records !== 0) known.noteAnswer(style);
    const saysNothing = answer.rcode === RCODE.ok && records === 0 && authorities === 0;
    const isDoubtful = records === 0 && (known.mayMind(style) || (saysNothing && !known.hasAnswered));
    if (isDoubtful) this.refused(turn, answer, style, EMPTY_WAITS_MS);
    else this.settle(answer, turn);
  }

  /** Asks it again in a plainer style, or else the others; while they do not answer, this answer waits. */
  private refused(turn: Turn, answer: Answer | null, style: Style, waitMs: number): void {
    if (turn.isOver) return;
    if (this.fallback === null || (answer !== null && rankOf(answer) > rankOf(this.fallback)))
      this.fallback = answer;
    this.after(waitMs, () => this.settle(this.fallback));
    if (turn.known.mayMind(style) || (style === "full" && isOfEdns(answer))) this.ask(turn);
    else {
      turn.isOver = true;
      this.askNext();
    }
  }

  /** If no resolver answers over TCP, the beginning of a truncated answer will do. */
  private async askOverTcp(turn: Turn, style: Style, cut?: UpstreamReply): Promise<void> {
    if (turn.isAskedOverTcp) return;
    turn.isAskedOverTcp = true;
    const { address, known } = turn;
    const isEnough = cut !== undefined && cut.answer !== null && known.isWithoutTcp(this.ways.monotonic());
    const heard = isEnough ? null : await this.ways.overTcp(address, queryFor(this.question, style));
    if (!isEnough) known.noteTcp(heard !== null, this.ways.monotonic());
    if (this.isSettled) return;
    if (heard?.says === "refusal") this.refused(turn, heard.answer, "literal", REFUSAL_WAITS_MS);
    else if (heard?.answer) this.settle(heard.answer, turn);
    else if (cut !== undefined)
      this.refused(turn, cut.answer && briefly(cut.answer), "literal", EMPTY_WAITS_MS);
  }

  private fail(turn: Turn): void {
    turn.failures += 1;
    if (turn.failures >= MAX_FAILURES) turn.isOver = true;
    const isOpen = this.turns.some(({ isOver, times }) => !isOver && (times === 0 || turn.isOver));
    if (isOpen || this.turns.every(({ isOver }) => isOver)) this.askNext();
  }

  private settle(answer: Answer | null, by?: Turn): void {
    if (this.isSettled) return;
    this.isSettled = true;
    for (const timer of this.timers) clearTimeout(timer);
    for (const forget of this.forgets) forget();
    const now = this.ways.monotonic();
    for (const turn of by === undefined ? [] : this.turns)
      if (turn !== by && turn.times > 0 && (turn.isOver || now - turn.askedAt >= SILENT_MS))
        turn.known.putLast(now);
    this.outcome.resolve(answer);
  }

  private after(ms: number, work: () => void): void {
    if (!this.isSettled) this.timers.push(setTimeout(work, ms));
  }
}

/** Whether it is what servers say that do not know EDNS (RFC 6891, section 7). */
function isOfEdns(answer: Answer | null): boolean {
  return answer === null || answer.rcode === RCODE.malformed || answer.rcode === RCODE.notImplemented;
}

/** An answer is better than a refusal, and one with records than one without. */
function rankOf({ rcode, addresses }: Answer): number {
  return rcode !== RCODE.ok && rcode !== RCODE.noName ? 0 : addresses.length === 0 ? 1 : 2;
}

/** So that the rest is asked for again soon. */
function briefly(answer: Answer): Answer {
  return { ...answer, ttlSeconds: Math.min(answer.ttlSeconds, SHORTEST_TTL_SECONDS) };
}
