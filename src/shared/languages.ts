/** The languages of the page and of what the gateway sends, each by its own name. */
export const LANGUAGE_NAMES = {
  en: "English",
  de: "Deutsch",
  es: "Español",
  fr: "Français",
  pt: "Português (Brasil)",
  ru: "Русский",
  zh: "简体中文",
} as const;
export type LanguageCode = keyof typeof LANGUAGE_NAMES;

/** What keeps the language that a person has chosen for the page, in a browser. */
export const LANGUAGE_COOKIE = "portcullis-language";

/** What a tag needs (RFC 5646, section 4.4.1). To read one of thousands of characters takes more than a second. */
const MAX_TAG_CHARACTERS = 35;

/** The first of these tags, such as `de-AT`, that there is a language for; English if there is none. */
export function languageFor(tags: readonly string[]): LanguageCode {
  const codes = Object.keys(LANGUAGE_NAMES) as LanguageCode[];
  const known = new Map(codes.map((code) => [writingOf(code), code]));
  return tags.flatMap((tag) => known.get(writingOf(tag)) ?? [])[0] ?? "en";
}

/** Whether a tag is of the language, in the same script: `zh-TW` is not simplified Chinese. */
export function isOf(tag: string, code: LanguageCode): boolean {
  return writingOf(tag) === writingOf(code);
}

/** The language and the script, such as `de-Latn`; null if it is no tag. */
function writingOf(tag: string): string | null {
  if (tag.length > MAX_TAG_CHARACTERS) return null;
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return null;
  }
}
