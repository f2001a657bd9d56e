import { type Arg, saidArg, type Voice } from "../shared/saying.ts";
import { inItsWords } from "./codes.ts";
import { listOf } from "./format.ts";
import { say } from "./language.ts";

/** What the house says, in the reader's language. */
export const VOICE: Voice = { say, listOf, own: inItsWords };

export function textOf(arg: Arg): string {
  return `${saidArg(arg, VOICE)}`;
}
