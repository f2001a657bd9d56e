import { useEffect } from "preact/hooks";
import { keep, kept } from "../kept.ts";

/** A page that is still not as long as it was is another one now. */
const GROWS_WITHIN_MS = 10_000;

/** Between two movements of a finger or a wheel. */
const RESTS_AFTER_MS = 200;

/** After a reload the page is where it was. The browser looks for that place before the gateway has answered. */
export function useKeptPlace(): void {
  useEffect(() => {
    let timer = 0;
    // What is kept while the page ends, a reload does not find.
    const note = () => {
      clearTimeout(timer);
      timer = Number(setTimeout(() => keep("top", scrollY), RESTS_AFTER_MS));
    };
    addEventListener("scroll", note, { passive: true });
    const stop = returnTo(Number(kept().top ?? 0));
    return () => {
      clearTimeout(timer);
      removeEventListener("scroll", note);
      stop();
    };
  }, []);
}

/** Returns there as soon as the page is long enough, unless the person moves first. */
function returnTo(top: number): () => void {
  if (top === 0) return () => {};
  const watch = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight < top + innerHeight) return;
    scrollTo(0, top);
    stop();
  });
  const timer = setTimeout(() => stop(), GROWS_WITHIN_MS);
  const stop = () => {
    watch.disconnect();
    clearTimeout(timer);
    for (const name of MOVES) removeEventListener(name, stop);
  };
  for (const name of MOVES) addEventListener(name, stop);
  watch.observe(document.body);
  return stop;
}

const MOVES = ["wheel", "touchmove", "keydown", "hashchange"] as const;
