import type { Translate } from "../base/language.ts";
import { type ArgsOf, english } from "../base/message.ts";

const TUNNEL = "The {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}";
const FIGURES = "({ms, select, unknown {} other {{ms} ms, }}{loss} % lost)";

/** The sentences of notifications besides alerts, by the keys of the catalogues. */
export const NOTICES = {
  notice_title: "Portcullis on {hostname}",
  notice_test: "This is a test. Notifications from this gateway arrive here.",
  notice_more: "({count} more like this)",
  notice_date: "{time} on {date}",
  outage_reason: "Reason: {reason}.",
  outage_down: `${TUNNEL} has been down since {from}: nothing goes through it.`,
  outage_silent: `${TUNNEL} has carried nothing since {from}.{why} Try another server.`,
  outage_was_down: `${TUNNEL} was down from {from} to {until}.`,
  outage_was_silent: `${TUNNEL} carried nothing from {from} to {until}.`,
  outage_down_until_off: `${TUNNEL} was down from {from} until it was disconnected at {until}.`,
  outage_silent_until_off: `${TUNNEL} carried nothing from {from} until it was disconnected at {until}.`,
  quality_good: `${TUNNEL} is good ${FIGURES} again.`,
  quality_slow: `${TUNNEL} is slow ${FIGURES}.`,
  quality_lossy: `${TUNNEL} is lossy ${FIGURES}.`,
} as const;

export function notice<Key extends keyof typeof NOTICES>(
  translate: Translate,
  key: Key,
  args: ArgsOf<(typeof NOTICES)[Key]>,
): string {
  return translate(key, args) ?? english(NOTICES[key], args);
}
