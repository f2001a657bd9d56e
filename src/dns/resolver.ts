import {
  type Address,
  contains,
  type HostName,
  isHostAddress,
  isLinkLocal,
  mustParsePrefix,
  type Prefix,
} from "../base/address.ts";
import { TYPE } from "../base/dns-message.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Shares } from "../base/shares.ts";
import { caught, type Soon, soon } from "../base/soon.ts";
import type { NamedAnswer } from "../destinations/names.ts";
import type { Match, Matcher } from "../destinations/rules.ts";
import type { DeviceId } from "../devices/id.ts";
import { NO_DEVICE } from "../killswitch/exits.ts";
import { type Exit, MAIN } from "../killswitch/policy.ts";
import { isBlockedExit, isOutsideExit } from "../shared/exits.ts";
import { type Answer, answerTo, ownAnswer, RCODE } from "./answer.ts";
import { Cache, type Found } from "./cache.ts";
import { DeviceCounts } from "./device-counts.ts";
import { type KnownQuestion, KnownQuestions } from "./known-questions.ts";
import { noSuchName, nothingOfThisType } from "./negative.ts";
import type { Answered } from "./query-log.ts";
import type { Question } from "./question.ts";
import { canBeReady, type ReadyAnswer, sentAgain } from "./ready-answer.ts";
import { isOfResolver, staysAtHome } from "./special-names.ts";
import { refusalOf, refusalTo } from "./unanswerable.ts";
import type { ExitResolvers, Upstream } from "./upstream.ts";

/** Queries for whole zones and for records of every type are not answered (RFC 8482). */
const META_TYPES: ReadonlySet<number> = new Set([251, 252, 253, 254, 255]);
/** RFC 3927. Devices look for these addresses on their own link, whatever the rules say. */
const IPV4_LINK_LOCAL = mustParsePrefix("169.254.0.0/16");
/** A tenth is more than a device asks at a time when a page with a hundred names opens. */
export const MAX_UNDER_WAY = 1_280;
/** A tenth is more than any device asks; a flood above it is not even read. */
export const MAX_EACH_SECOND = 10_000;
/** Times what a device has must be left. Fifty devices use that up, and one machine can invent that many. */
const LEFT_TO_OTHERS = 9;
/** What is left to each of those that have a port, however many there are. */
const AT_LEAST = { underWay: 8, eachSecond: 20 };
const SECOND_MS = 1_000;
/** Devices without a port of their own. Nothing is decided for these: the rules, lists and exit of all others apply. */
export const OTHERS = NO_DEVICE;

interface Deps {
  clock: { monotonic(): number };
  exitOf: (device: DeviceId) => Exit;
  rules: () => Matcher;
  /** The answer for a name or an address of the home; null if it is none. */
  local: (question: Question) => Promise<Uint8Array | null> | null;
  /** Whether a list blocks the first name for the device, or one that it leads to. */
  isBlocked: (names: readonly string[], device: DeviceId) => boolean;
  /** Whether a person has decided that the name may lead into the home. */
  mayLeadHome: (name: string) => boolean;
  /** Called for each question about a name of a rule. */
  asked: (match: Match<HostName>, device: DeviceId) => void;
  /** Resolves when the kernel leads traffic to these addresses by the rule's exit; false if it cannot. */
  permit: (named: NamedAnswer) => Soon<boolean>;
  /** Called for each answer that no rule leads outside the tunnel. */
  other: (name: HostName, device: DeviceId, addresses: readonly Address[]) => void;
  /** The resolvers of an exit and the way to them; null while it is down. */
  resolversOf: (exit: Exit) => ExitResolvers | null;
  /** The networks of the home, whose addresses no name of the internet has. */
  home: () => readonly Prefix[];
  /** The public ones among them. */
  publicHome: () => readonly Prefix[];
  upstream: Pick<Upstream, "ask">;
  /** Called with each query that is answered. */
  answered: (question: Question, answered: Answered) => void;
  log: Pick<Log, "warn">;
}

/** An answer, and what it answers; null for a message that is no question. */
export interface Reply {
  question: Question | null;
  answer: Uint8Array;
}

/** Who asks, and what becomes of the question. */
interface Asker {
  device: DeviceId;
  known: KnownQuestion;
  noted: Answered;
}

/** What clients have asked since the start. */
export interface Counts {
  asked: number;
  local: number;
  cached: number;
  blocked: number;
  refused: number;
  failed: number;
}

/**
 * Answers the questions of the LAN. Each question goes through the exit of the traffic that follows it, and by no
 * other; while that exit is down it is refused.
 */
export class Resolver {
  readonly counts: Counts = { asked: 0, local: 0, cached: 0, blocked: 0, refused: 0, failed: 0 };
  readonly byDevice = new DeviceCounts();
  private readonly questions = new KnownQuestions();
  private readonly cache: Cache;
  private readonly underWay = new Shares(MAX_UNDER_WAY, LEFT_TO_OTHERS, AT_LEAST.underWay);
  private eachSecond = secondShares();
  private second = 0;
  /** Queries under way, shared by all clients that ask the same. */
  private readonly asking = new Map<string, Promise<Answer | null>>();
  /** By exit: the interface that answers came by, and how often it has changed. */
  private readonly generations = new Map<string, { link: string | null; number: number; text: string }>();

  /** Whether answers have addresses of these networks. */
  private readonly ofHome = new WeakMap<Answer, { home: readonly Prefix[]; isIn: boolean }>();

  constructor(private readonly deps: Deps) {
    this.cache = new Cache(() => deps.clock.monotonic());
  }

  /**
   * The answer to a message of a device, which the firewall has identified; null for none. It is there in the same turn
   * unless something has to be waited for: most questions are for names that are known, and each wait costs them time.
   * The message is read before this returns. An answer that is there in the same turn is to be used in it: then the next
   * one may take its place.
   */
  answer(message: Uint8Array, device: DeviceId): Soon<Reply | null> {
    if (!this.takes(device)) return null;
    const known = this.questionIn(message);
    if (known === null) return null;
    if (known instanceof Uint8Array) return { question: null, answer: known };
    const again = known.ready && this.again(known.question, known.ready, message, device);
    if (again !== null) return again;
    const question = { ...known.question, id: ((message[0] ?? 0) << 8) | (message[1] ?? 0) };
    this.counts.asked += 1;
    const noted: Answered = { device: device === OTHERS ? null : device, exit: null, answer: "local" };
    const reply = (answer: Uint8Array): Reply => {
      this.deps.answered(question, noted);
      return { question, answer };
    };
    const withoutAnswer = (error: unknown): Uint8Array => {
      this.deps.log.warn(`a question could not be answered: ${messageOf(error)}`);
      return this.failed(question, noted);
    };
    return soon(
      caught(() => this.answerOf(question, { device, known, noted }), withoutAnswer),
      reply,
    );
  }

  /** What was answered before, if that has not changed; null if the question has to be looked at. */
  private again(question: Question, ready: ReadyAnswer, message: Uint8Array, device: DeviceId): Reply | null {
    const { clock, rules, exitOf, isBlocked, publicHome } = this.deps;
    const { addresses, names } = ready.answer;
    try {
      const name = question.name as HostName;
      const own = exitOf(device);
      const match = rules().forName(name, device, isBlockedExit(own));
      const exit = askedBy(match, own);
      if (this.generationOf(exit) !== ready.generation || publicHome() !== ready.publicHome) return null;
      if (match === null && isBlocked(names, device)) return null;
      const answer = sentAgain(ready, message, clock.monotonic());
      if (answer === null) return null;
      const permitted = this.permitted(match, device, ready.answer);
      // What has to be waited for is asked for once more: rules may change meanwhile.
      if (permitted instanceof Promise) permitted.catch(() => {});
      if (permitted !== true) return null;
      if (match !== null) this.deps.asked(match, device);
      if (!isOutsideExit(match?.rule.exit)) this.deps.other(name, device, addresses);
      this.counts.asked += 1;
      this.counts.cached += 1;
      if (device !== OTHERS) this.byDevice.asked(device);
      this.deps.answered(question, { device: device === OTHERS ? null : device, exit, answer: "cached" });
      return { question, answer };
    } catch {
      return null;
    }
  }

  /** Writes into `noted` what becomes of it. */
  private answerOf(question: Question, asker: Asker): Soon<Uint8Array> {
    const { device } = asker;
    const refusal = refusalOf(question);
    if (refusal !== null) return ownAnswer(question, refusal);
    if (META_TYPES.has(question.type)) return ownAnswer(question, RCODE.notImplemented);
    if (device !== OTHERS) this.byDevice.asked(device);
    return soon(this.deps.local(question), (local) => {
      if (local === null) return this.fromOutside(question, asker);
      this.counts.local += 1;
      return local;
    });
  }

  private fromOutside(question: Question, asker: Asker): Soon<Uint8Array> {
    const { rules, exitOf, isBlocked } = this.deps;
    const { device, noted } = asker;
    if (isOfResolver(question.name)) return nothingOfThisType(question);
    const own = exitOf(device);
    const match = rules().forName(question.name as HostName, device, isBlockedExit(own));
    if (match !== null) this.deps.asked(match, device);
    if (match === null && staysAtHome(question.name)) return noSuchName(question);
    if (match === null && isBareHost(question)) return nothingOfThisType(question);
    // A person has decided about this name in particular.
    if (match === null && isBlocked([question.name], device)) return this.blocked(question, device, noted);
    if (isBlockedExit(match?.rule.exit)) return this.blocked(question, device, noted);
    const exit = askedBy(match, own);
    noted.exit = exit;
    return isBlockedExit(exit) ? this.refused(question, noted) : this.fromExit(question, asker, exit, match);
  }

  private fromExit(
    question: Question,
    asker: Asker,
    exit: Exit,
    match: Match<HostName> | null,
  ): Soon<Uint8Array> {
    const generation = this.generationOf(exit);
    const key = keyOf(question, generation);
    const known = this.cache.find(key);
    const { noted } = asker;
    noted.answer = known === null ? "asked" : "cached";
    if (known !== null) this.counts.cached += 1;
    return soon(known ?? this.asked(question, asker.device, exit, key), (answered) => {
      const found = answered ?? this.cache.find(key, true);
      if (found !== null) return this.checked(question, asker, match, generation, found);
      return this.deps.resolversOf(exit) === null
        ? this.refused(question, noted)
        : this.failed(question, noted);
    });
  }

  private checked(
    question: Question,
    { device, known, noted }: Asker,
    match: Match<HostName> | null,
    generation: string,
    { answer, at, ageSeconds }: Found,
  ): Soon<Uint8Array> {
    // Trackers hide behind names of the site itself.
    if (match === null && this.deps.isBlocked(answer.names, device))
      return this.blocked(question, device, noted);
    if (this.leadsHome(question.name, answer, match)) return ownAnswer(question, RCODE.ok);
    if (answer.targets.some((target) => this.isElsewhere(target, question, device, match)))
      return nothingOfThisType(question);
    return soon(this.isLed(question, device, match, answer), (isLed) => {
      if (!isLed) return this.refused(question, noted);
      const message = answerTo(question, answer, ageSeconds);
      const publicHome = this.deps.publicHome();
      if (canBeReady(question, { message, answer }) && !this.isOfHome(answer, publicHome))
        known.ready = { message: message.slice(), answer, at, ageSeconds, generation, publicHome };
      return message;
    });
  }

  /**
   * Whether the traffic that follows takes the exit by which the question was asked. The rules may have changed
   * meanwhile: then the device asks again.
   */
  private isLed(
    { name }: Question,
    device: DeviceId,
    match: Match<HostName> | null,
    answer: Answer,
  ): Soon<boolean> {
    const { rules, exitOf } = this.deps;
    return soon(this.permitted(match, device, answer), (isPermitted) => {
      if (!isOutsideExit(match?.rule.exit)) this.deps.other(name as HostName, device, answer.addresses);
      const isBlocked = isBlockedExit(exitOf(device));
      return isPermitted && rules().forName(name as HostName, device, isBlocked)?.rule === match?.rule;
    });
  }

  /** Whether the kernel leads traffic to the addresses by the rule's exit, if there is a rule. */
  private permitted(
    match: Match<HostName> | null,
    device: DeviceId,
    { addresses, addressSeconds }: Answer,
  ): Soon<boolean> {
    if (match === null || addresses.length === 0) return true;
    return this.deps.permit({ match, device, addresses, ttlMs: 1_000 * addressSeconds });
  }

  /**
   * Whether a host that an HTTPS or SVCB record names is not for the device, or has another exit than the name that it
   * belongs to: devices ask for the host, and not again for the name. Without the record they take the name's addresses.
   */
  private isElsewhere(target: string, { name }: Question, device: DeviceId, match: Match<HostName> | null) {
    const { rules, exitOf, isBlocked } = this.deps;
    if (target === name) return false;
    const rule = rules().forName(target as HostName, device, isBlockedExit(exitOf(device)))?.rule;
    return (
      rule !== match?.rule ||
      (match === null && isBlocked([name, target], device)) ||
      staysAtHome(target) ||
      !target.includes(".")
    );
  }

  /** Another server of the tunnel gets other answers. While it is down, those of the former one count. */
  private generationOf(exit: Exit): string {
    const name = exit.to === "tunnel" ? exit.name : `(${exit.to})`;
    const known = this.generations.get(name) ?? { link: null, number: 0, text: `${name}#0` };
    const link = this.deps.resolversOf(exit)?.link ?? known.link;
    if (link === known.link) return known.text;
    const number = known.number + (known.link === null ? 0 : 1);
    const text = `${name}#${number}`;
    this.generations.set(name, { link, number, text });
    return text;
  }

  /** Null if the exit is down, nothing answers there, or the device asks too much. */
  private async asked(question: Question, device: DeviceId, exit: Exit, key: string) {
    const known = this.asking.get(key);
    const answer = await (known ?? this.ask(question, device, exit, key));
    return answer === null ? null : { answer, at: this.deps.clock.monotonic(), ageSeconds: 0 };
  }

  private async ask(question: Question, device: DeviceId, exit: Exit, key: string): Promise<Answer | null> {
    const { upstream, resolversOf } = this.deps;
    const resolvers = resolversOf(exit);
    if (resolvers === null || !this.underWay.take(device)) return null;
    const work = upstream.ask(question, resolvers);
    this.asking.set(key, work);
    try {
      const answer = await work;
      if (answer !== null) this.cache.keep(key, answer);
      return answer;
    } finally {
      this.asking.delete(key);
      this.underWay.give(device);
    }
  }

  /**
   * Whether a name of the internet has an address of the home, so that a page could reach what listens there. The
   * names of a rule may have private addresses behind its exit.
   */
  private leadsHome(name: string, answer: Answer, match: Match<HostName> | null): boolean {
    if (match === null && this.deps.mayLeadHome(name)) return false;
    const { locals } = answer;
    if (this.isOfHome(answer, this.deps.publicHome())) return true;
    if (match === null || isOutsideExit(match.rule.exit) || locals.length === 0) return locals.length > 0;
    const home = this.deps.home();
    return locals.some(
      (address) =>
        !isHostAddress(address) ||
        isLinkLocal(address) ||
        contains(IPV4_LINK_LOCAL, address) ||
        home.some((prefix) => contains(prefix, address)),
    );
  }

  /** Whether any of the addresses is in these networks. It is found once: a device may ask a thousand times a second. */
  private isOfHome(answer: Answer, home: readonly Prefix[]): boolean {
    const known = this.ofHome.get(answer);
    if (known?.home === home) return known.isIn;
    const isIn = home.some((prefix) => answer.addresses.some((address) => contains(prefix, address)));
    this.ofHome.set(answer, { home, isIn });
    return isIn;
  }

  /** What a message asks, or the answer to one that cannot be read as a question; null if none is due. */
  private questionIn(message: Uint8Array): KnownQuestion | Uint8Array | null {
    try {
      return this.questions.read(message);
    } catch {
      return refusalTo(message);
    }
  }

  /** Counts a message. Whether it is read. */
  private takes(device: DeviceId): boolean {
    const second = Math.floor(this.deps.clock.monotonic() / SECOND_MS);
    if (second !== this.second) this.eachSecond = secondShares();
    this.second = second;
    return this.eachSecond.take(device);
  }

  private refused(question: Question, noted: Answered): Uint8Array {
    noted.answer = "refused";
    this.counts.refused += 1;
    return ownAnswer(question, RCODE.refused);
  }

  private failed(question: Question, noted: Answered): Uint8Array {
    noted.answer = "failed";
    this.counts.failed += 1;
    return ownAnswer(question, RCODE.failed);
  }

  private blocked(question: Question, device: DeviceId, noted: Answered): Uint8Array {
    noted.answer = "blocked";
    this.counts.blocked += 1;
    this.byDevice.blocked(device);
    return noSuchName(question);
  }
}

function secondShares(): Shares {
  return new Shares(MAX_EACH_SECOND, LEFT_TO_OTHERS, AT_LEAST.eachSecond);
}

/**
 * The exit of a query: that of the traffic that follows. Nothing is queried outside the tunnel: the kill switch does
 * not permit it.
 */
function askedBy(match: Match<HostName> | null, own: Exit): Exit {
  if (match === null) return own;
  const { exit } = match.rule;
  switch (exit.to) {
    case "tunnel":
    case "blocked":
      return exit;
    case "direct":
      return own.to === "tunnel" ? own : { to: "tunnel", name: MAIN };
  }
}

/**
 * Whether it asks for the addresses of a name without a dot. That is one of the home, known or not, and the question
 * would tell it to others. There may be such a name at the top of DNS, without addresses: some resolvers ask for it on
 * their way down.
 */
function isBareHost({ name, type }: Question): boolean {
  return !name.includes(".") && (type === TYPE.a || type === TYPE.aaaa);
}

function keyOf({ name, type, flags, wantsDnssec }: Question, exit: string): string {
  return `${exit} ${type} ${flags} ${wantsDnssec} ${name}`;
}
