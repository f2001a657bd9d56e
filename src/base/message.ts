import { type Counting, formatMessage, type MessageNames, parseMessage } from "../shared/message-format.ts";

/** What a sentence is about: names, addresses and numbers. A `reason` is the gateway's own text, in English. */
export type Arg = string | number;
export type Args = Readonly<Record<string, Arg>>;

/** What a text needs. */
export type ArgsOf<Text extends string> = Readonly<Record<MessageNames<Text>, Arg>>;

/** What a code with several texts needs: `what` says which of them it is. */
export type ArgsOfTexts<Texts extends Readonly<Record<string, string>>> = {
  [What in keyof Texts]: Readonly<{ what: What } & Record<MessageNames<Texts[What]>, Arg>>;
}[keyof Texts];

/** A text for people, in English. */
export function english(text: string, args: Args): string {
  return formatMessage<string>(parseMessage(text), args, ENGLISH) as string;
}

const ENGLISH: Counting = { pluralOf: (count) => (count === 1 ? "one" : "other"), numberText: String };
