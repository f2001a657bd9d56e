import { formatMessage, parseMessage } from "../shared/message-format.ts";
import type { Voice } from "../shared/saying.ts";

const LIST = new Intl.ListFormat("en-GB", { type: "conjunction" });
const COUNTING = { pluralOf: (count: number) => (count === 1 ? "one" : "other"), numberText: String };

export const ENGLISH: Voice = {
  say: (text, args) => formatMessage<string>(parseMessage(text), args, COUNTING) as string,
  listOf: (words) => LIST.format(words),
  own: (sentence) => sentence,
};
