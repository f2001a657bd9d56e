import { capital, sentenceFrom } from "./words.ts";

/**
 * A text that can be said in each language: English in ICU MessageFormat, which is its key in the catalogues, and what
 * stands in place of its names.
 */
export interface Saying {
  readonly text: string;
  readonly args: Readonly<Record<string, Arg>>;
}

/** Several are one list: "Stockholm and Oslo". */
export type Arg = string | number | Saying | readonly Arg[];

/** What the gateway writes in English only, such as an error. */
export interface OwnText {
  readonly own: string;
}

export function saying(text: string, args: Saying["args"] = {}): Saying {
  return { text, args };
}

/** How a language says it. */
export interface Voice {
  say(text: string, args: Readonly<Record<string, string | number>>): string;
  listOf(words: readonly string[]): string;
  own(sentence: string): string;
}

export function said({ text, args }: Saying, voice: Voice): string {
  const parts = Object.entries(args).map(([name, arg]) => [name, saidArg(arg, voice)] as const);
  return voice.say(text, Object.fromEntries(parts));
}

export function saidArg(arg: Arg, voice: Voice): string | number {
  if (typeof arg !== "object") return arg;
  return "text" in arg ? said(arg, voice) : voice.listOf(arg.map((each) => `${saidArg(each, voice)}`));
}

/** Sentences, one after the other. */
export function allSaid(sentences: readonly (Saying | OwnText)[], voice: Voice): string {
  return sentences
    .map((each) => ("own" in each ? voice.own(sentenceFrom(each.own)) : capital(said(each, voice))))
    .join(" ");
}
