import { signal } from "@preact/signals";
import type { Tone } from "../shared/verdict-texts.ts";
import { shown } from "./language.ts";
import type { Sentence } from "./sentence.ts";

/** What is older may not be true any more; `home.css` hides it then if no script of the page runs. */
const VALID_MS = 10_000;

/** The verdict that the gateway has written into the page, as it was then. */
interface Served {
  name: string;
  sentence: Sentence;
  /** Since the page was opened. */
  untilMs: number;
}

const written = signal(typeof document === "undefined" ? null : servedIn(document, 0));

/** It counts until the page can judge by itself, or knows that something has changed. */
export function servedSentence(): Sentence | null {
  const served = written.value;
  return served !== null && performance.now() < served.untilMs ? served.sentence : null;
}

/** The gateway has sent the page again. */
export function serveAgain(html: string): void {
  written.value = servedIn(new DOMParser().parseFromString(html, "text/html"), performance.now());
}

/** The gateway has told something else since: the name of another verdict, or null for any change. */
export function outdateServed(verdict: string | null): void {
  if (written.value?.name !== verdict) written.value = null;
}

function servedIn(page: Document, atMs: number): Served | null {
  const section = page.querySelector<HTMLElement>(".served");
  const [title, text] = ["h1", "p"].map((tag) => section?.querySelector(tag)?.textContent ?? null);
  const { name, tone } = section?.dataset ?? {};
  if (!name || !title || !text || section?.lang !== shown) return null;
  const sentence: Sentence = { tone: tone as Tone, title, text, why: null, help: null };
  return { name, sentence, untilMs: atMs + VALID_MS };
}
