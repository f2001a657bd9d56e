import { LANGUAGE_NAMES, type LanguageCode } from "../shared/languages.ts";
import { formatMessage, parseMessage } from "../shared/message-format.ts";
import type { Args } from "./message.ts";
import { SavedChoice } from "./saved.ts";
import { countingIn } from "./voice.ts";

/** The language of notifications and of Home Assistant. The wire's own sentences are English. */
export const LANGUAGE = new SavedChoice("language", "language", "en", (text) =>
  Object.hasOwn(LANGUAGE_NAMES, text),
);

/** The sentence of a key in a language; null in English, of a key that its catalogue has not, and if it lacks a value. */
export type Translate = (key: string, args: Args) => string | null;

export const IN_ENGLISH: Translate = () => null;

/** Of a language that only a newer version knows, English. */
export async function translationIn(code: string): Promise<Translate> {
  const load = Object.hasOwn(CATALOGUES, code) ? CATALOGUES[code as keyof typeof CATALOGUES] : null;
  if (load === null) return IN_ENGLISH;
  const texts: Readonly<Record<string, string>> = (await load()).default;
  const counting = countingIn(code);
  return (key, args) => {
    const text = texts[key];
    if (text === undefined) return null;
    const told = formatMessage(parseMessage(text), args, counting);
    // What another version has kept may lack one of the values.
    return typeof told === "string" ? told : null;
  };
}

/** Read when one is needed: most gateways need one of them, or none. */
const CATALOGUES = {
  de: () => import("../shared/sentences/sentences.de.json"),
  es: () => import("../shared/sentences/sentences.es.json"),
  fr: () => import("../shared/sentences/sentences.fr.json"),
  pt: () => import("../shared/sentences/sentences.pt.json"),
  ru: () => import("../shared/sentences/sentences.ru.json"),
  zh: () => import("../shared/sentences/sentences.zh.json"),
} satisfies Record<Exclude<LanguageCode, "en">, () => Promise<unknown>>;
