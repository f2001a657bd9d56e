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

/** The first of these tags, such as `de-AT`, that there is a language for; English if there is none. */
export function languageFor(tags: readonly string[]): LanguageCode {
  const codes = Object.keys(LANGUAGE_NAMES) as LanguageCode[];
  return tags.flatMap((tag) => codes.find((code) => isOf(tag, code)) ?? [])[0] ?? "en";
}

/** Whether a tag is of the language, in the same script: `zh-TW` is not simplified Chinese. */
export function isOf(tag: string, code: LanguageCode): boolean {
  try {
    const [one, two] = [new Intl.Locale(tag).maximize(), new Intl.Locale(code).maximize()];
    return one.language === two.language && one.script === two.script;
  } catch {
    return false;
  }
}
