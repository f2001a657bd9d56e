import { LOCALE, say } from "../../language.ts";

const DAY = new Intl.DateTimeFormat(LOCALE, { dateStyle: "full" });
const DAY_MS = 86_400_000;

/** "Today", "Yesterday", or the day in the reader's locale. */
export function dayOf(at: string): string {
  const day = new Date(at).toDateString();
  if (day === new Date().toDateString()) return say("Today");
  if (day === new Date(Date.now() - DAY_MS).toDateString()) return say("Yesterday");
  return DAY.format(new Date(at));
}
