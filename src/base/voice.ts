import type { Voice } from "../shared/saying.ts";
import { english } from "./message.ts";

const LIST = new Intl.ListFormat("en-GB", { type: "conjunction" });

export const ENGLISH: Voice = {
  say: english,
  listOf: (words) => LIST.format(words),
  own: (sentence) => sentence,
};
