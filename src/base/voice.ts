import { type Counting, formatMessage, parseMessage } from "../shared/message-format.ts";
import type { Voice } from "../shared/saying.ts";
import { verdictMessages } from "../shared/verdict-messages.ts" with { type: "macro" };
import { english } from "./message.ts";

const MESSAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = verdictMessages();

export const ENGLISH: Voice = {
  say: english,
  listOf: listIn("en-GB"),
  own: (sentence) => sentence,
};

/** How the verdict is told in a language; in English if the language, or one of its sentences, is not known. */
export function voiceIn(code: string): Voice {
  const messages = Object.hasOwn(MESSAGES, code) ? MESSAGES[code] : undefined;
  if (messages === undefined) return ENGLISH;
  const counting = countingIn(code);
  const say: Voice["say"] = (text, args) => {
    const message = messages[text];
    return message === undefined
      ? english(text, args)
      : `${formatMessage<string>(parseMessage(message), args, counting)}`;
  };
  return { say, listOf: listIn(code), own: ENGLISH.own };
}

/** How a language counts, and writes numbers. */
export function countingIn(code: string): Counting {
  return {
    pluralOf: (count) => new Intl.PluralRules(code).select(count),
    numberText: (value) => new Intl.NumberFormat(code).format(value),
  };
}

function listIn(locale: string): Voice["listOf"] {
  // Made when it is first needed: it loads a language's data, which no start waits for.
  let list: Intl.ListFormat | undefined;
  return (words) => {
    list ??= new Intl.ListFormat(locale, { type: "conjunction" });
    return list.format(words);
  };
}
