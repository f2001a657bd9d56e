import { signal } from "@preact/signals";
import { isOf, LANGUAGE_COOKIE, languageFor } from "../shared/languages.ts";
import { type Counting, formatMessage, type Message, parseMessage } from "../shared/message-format.ts";
import { keyOf, type PackedCatalogue, unpack } from "../shared/message-key.ts";
import { drawn } from "./drawn.ts";
import { LANGUAGES, type Language } from "./languages/all.ts";

/**
 * The language of the page: the one that a person has chosen, or else the first that the browser wishes and the page
 * has. Its messages are here before anything that imports this file runs, so a constant may be `say(…)`, too.
 */

/** A gateway that does not answer in time leaves the page in English. */
const CATALOGUE_WITHIN_MS = 5_000;
/** A gateway that starts again is there by then. */
const AGAIN_MS = 3_000;

// Tests have no browser.
declare const document: { cookie: string } | undefined;
const browser = typeof document === "undefined" ? { cookie: "" } : document;

/** The longest for which browsers keep a cookie. */
const CHOICE_SECONDS = 400 * 24 * 3_600;

const ENGLISH = "en";
const chosen = offered(kept());

export const language: Language = chosen ?? wished();

/** The reader's locale for times and numbers; undefined is the browser's. */
export const LOCALE = localeOf(language);

/** Everything waits for this file, so it waits for the first look, too. */
const [packed] = await Promise.all([loaded<PackedCatalogue>(language.catalogue), drawn()]);
const catalogue = packed && unpack(packed);

/** What the gateway tells, by the keys of its rows; null until it is there. */
const sentences = signal<ReadonlyMap<string, string> | null>(null);

/** What errors say, by their names; null until it is there. */
const errors = signal<ReadonlyMap<string, string> | null>(null);

/** What checks find, by its code; null until it is there. */
const findings = signal<ReadonlyMap<string, string> | null>(null);

/** What every view may tell; to be called once the page is there. They are English until it could be had. */
export async function loadSentences(): Promise<void> {
  if (shown === ENGLISH) return;
  sentences.value = await textsOf(language.sentences);
  if (sentences.value === null) setTimeout(loadSentences, AGAIN_MS);
}

/** What errors say, which is fetched with the first of them. */
export async function loadErrors(): Promise<void> {
  if (shown === ENGLISH || errors.value !== null) return;
  asking ??= textsOf(language.errors).finally(() => {
    asking = null;
  });
  errors.value = await asking;
}

let asking: ReturnType<typeof textsOf> | null = null;

/** What only the view of checks tells. */
export async function loadFindings(): Promise<void> {
  if (shown !== ENGLISH) findings.value ??= await textsOf(language.findings);
}

/** The language that the page is really in: the gateway's own texts are English, and a catalogue may not be there. */
export const shown = catalogue === null ? ENGLISH : language.code;

/** The locale for words that stand in sentences. */
export const WORDS = shown === ENGLISH ? "en-GB" : (LOCALE ?? shown);

/** Bounded by the number of messages in the source. */
const parsed = new Map<string, Parsed>();
const number = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });

/** What a message has in place of its names. */
export type Parts = Readonly<Record<string, string | number>>;

/**
 * A message in the reader's language. The key is the English text itself, in ICU MessageFormat:
 *
 *     say("{count, plural, one {# device} other {# devices}} of {place}", { count, place })
 */
export function say(message: string, parts?: Parts): string {
  return `${formatted(message, parts)}`;
}

/** A text of the gateway's rows, in the reader's language: `tests/page/messages.ts` takes those for messages, too. */
export function translated(text: string): string {
  return `${formatted(text)}`;
}

/** A message whose parts or tags may be elements: see `Say`. */
export function formatted<T>(
  message: string,
  values?: Readonly<Record<string, unknown>>,
): string | T | (string | T)[] {
  const { form, counting } = parsed.get(message) ?? parse(message);
  return formatMessage<T>(form, values ?? {}, counting);
}

/** A sentence of the gateway by its key; null in English, before it is there, of a newer gateway, and if it lacks a value. */
export function told(key: string, args: Parts): string | null {
  return toldBy(sentences.value, key, args);
}

/** The same of what a check has found. */
export function toldFinding(key: string, args: Parts): string | null {
  return toldBy(findings.value, key, args);
}

/** The same of an error. */
export function toldError(key: string, args: Parts): string | null {
  return toldBy(errors.value, key, args);
}

function toldBy(catalogue: ReadonlyMap<string, string> | null, key: string, args: Parts): string | null {
  const text = catalogue?.get(key);
  if (text === undefined) return null;
  const said = formatMessage(parseMessage(text), args, countingIn(language.code));
  // What another version has kept may lack one of the values.
  return typeof said === "string" ? said : null;
}

/** Keeps the choice, for when the page is loaded again: constants have texts, and the gateway writes some, too. */
export function choose({ code }: Language): void {
  const seconds = code === wished().code ? 0 : CHOICE_SECONDS;
  browser.cookie = `${LANGUAGE_COOKIE}=${code}; Path=/; SameSite=Lax; Max-Age=${seconds}`;
}

interface Parsed {
  form: Message;
  /** English counts otherwise than the language that has no translation. */
  counting: Counting;
}

function parse(message: string): Parsed {
  const text = catalogue?.get(keyOf(message));
  const known = {
    form: parseMessage(text ?? message),
    counting: countingIn(text === undefined ? ENGLISH : language.code),
  };
  parsed.set(message, known);
  return known;
}

/** Making the rules takes 50 times as long as asking them, and there are two languages at most. */
const countings = new Map<string, Counting>();

function countingIn(code: string): Counting {
  const known = countings.get(code);
  if (known !== undefined) return known;
  const rules = new Intl.PluralRules(code);
  const counting: Counting = {
    pluralOf: (count) => rules.select(count),
    numberText: (value) => number.format(value),
  };
  countings.set(code, counting);
  return counting;
}

/** Texts by their keys; null is English, also if they could not be had. */
async function textsOf(file: string | null): Promise<ReadonlyMap<string, string> | null> {
  const texts = await loaded<Record<string, string>>(file);
  return texts && new Map(Object.entries(texts));
}

async function loaded<T>(file: string | null): Promise<T | null> {
  if (file === null) return null;
  try {
    const response = await fetch(file, { signal: AbortSignal.timeout(CATALOGUE_WITHIN_MS) });
    return response.ok ? ((await response.json()) as T) : null;
  } catch {
    return null;
  }
}

function wished(): Language {
  return offered(languageFor(wishes())) as Language;
}

function wishes(): readonly string[] {
  return typeof navigator === "undefined" ? [] : (navigator.languages ?? []);
}

/** A reader who has English for want of another language keeps the own times and numbers. */
function localeOf({ code }: Language): string | undefined {
  if (chosen === undefined && code === ENGLISH) return undefined;
  return wishes().find((tag) => isOf(tag, language.code)) ?? (code === ENGLISH ? "en-GB" : code);
}

function offered(code: string | null): Language | undefined {
  return LANGUAGES.find((each) => each.code === code);
}

function kept(): string | null {
  return new RegExp(`\\b${LANGUAGE_COOKIE}=(\\w+)`).exec(browser.cookie)?.[1] ?? null;
}
