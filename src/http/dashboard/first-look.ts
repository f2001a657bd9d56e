import { voiceIn } from "../../base/voice.ts";
import { LANGUAGE_COOKIE, type LanguageCode, languageFor } from "../../shared/languages.ts";
import type { Overview } from "../../tunnel/overview.ts";
import type { Domain } from "../domain.ts";

/** The page comes without a verdict if the kernel does not answer in time. */
const READ_WITHIN_MS = 300;
/** Each takes some microseconds, and a header has room for thousands. */
const MAX_WISHES = 20;

/** What stands in the page until its script runs. */
const LOADING = /<p class="loading">.*?<\/p>/s;

/**
 * The page with the verdict on the home at this moment, which a browser shows before it runs a script; without one while
 * that is not known, and if this request could not read it otherwise: nobody sends a token with a page.
 */
export async function firstLook(
  html: string,
  { headers }: Request,
  { gate, overview, host }: Pick<Domain, "gate" | "overview" | "host">,
): Promise<string> {
  if (!gate.isOpenToRead) return html;
  const language = languageOf(headers);
  const reading = overview.verdict(voiceIn(language)).catch(() => null);
  const verdict = await Promise.race([reading, host.sleep(READ_WITHIN_MS).then(() => null)]);
  return verdict === null ? html : html.replace(LOADING, (loading) => look(verdict, language, loading));
}

type Shown = NonNullable<Awaited<ReturnType<Overview["verdict"]>>>;

/** Where the page's own sentence will stand; `served.ts` of the page reads it. */
function look({ name, tone, title, text }: Shown, language: LanguageCode, loading: string): string {
  const [shownTitle, shownText] = [title, text].map(Bun.escapeHTML);
  return [
    '<div class="shell"><div class="layout"><div class="navigation"></div><main><div class="home">',
    `<section class="state served tone-${tone}" lang="${language}" data-name="${name}" data-tone="${tone}">`,
    `<h1>${shownTitle}</h1><p class="sentence">${shownText}</p></section>${loading}</div></main></div></div>`,
  ].join("");
}

/** The one that a person has chosen, or else the first that the browser wishes. */
export function languageOf(headers: Headers): LanguageCode {
  const chosen = new RegExp(`\\b${LANGUAGE_COOKIE}=(\\w+)`).exec(headers.get("cookie") ?? "")?.[1];
  // Browsers name the one that they wish most first.
  const wishes = (headers.get("accept-language") ?? "").split(",", MAX_WISHES);
  return languageFor([chosen ?? "", ...wishes.map((each) => each.replace(/;.*/s, "").trim())]);
}
