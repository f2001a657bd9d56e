// Tests have no browser.
declare const document: { hidden: boolean } | undefined;
declare const requestAnimationFrame: (draw: () => void) => void;

/** A tab that is hidden meanwhile draws nothing. */
const WITHIN_MS = 500;

/** Resolves once the browser has drawn the page as it came: on a slow phone the scripts would hold that up. */
export function drawn(): Promise<void> {
  if (typeof document === "undefined" || document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, WITHIN_MS);
  });
}
