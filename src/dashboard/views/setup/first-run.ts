import { useEffect } from "preact/hooks";
import { knownOf, useAnswer } from "../../answers.ts";

/** Whether it was looked for: once for each time the page is opened, so that Home can be seen without a server. */
let isKnown = false;

/** Leads from Home to the first steps if no provider has a server that can be used. */
export function useFirstRun(): void {
  const providers = knownOf(useAnswer("servers/counts"));
  useEffect(() => {
    if (isKnown || providers === null) return;
    isKnown = true;
    if (Object.values(providers.usable).every((count) => count === 0)) location.replace("#/setup");
  }, [providers]);
}
