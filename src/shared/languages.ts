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
