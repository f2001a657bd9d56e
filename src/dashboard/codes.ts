import type { SecurityAlert } from "../base/alert.ts";
import type { Code } from "../base/errors.ts";
import type { Args } from "../base/message.ts";
import type { Check } from "../checks/schema.ts";
import { sentenceFrom } from "../shared/words.ts";
import { beginOfItsWords } from "./format.ts";
import { loadErrors, type Parts, say, shown, told, toldError, toldFinding } from "./language.ts";

/**
 * What the gateway tells, by its codes. Its own texts are English, and name the field and the value. In another language
 * they follow a sentence of the page's own, after a line break: `Told` shows them as what they are.
 */

/** The gateway's own text. */
export function inItsWords(text: string): string {
  return shown === "en" ? text : `\n${text}`;
}

/** The gateway's part of a text. */
export function itsWords(text: string): string {
  return text.slice(beginOfItsWords(text));
}

/** An error by its row. */
export async function errorText(
  code: string | null,
  { error, args }: { error: string; args?: Parts },
): Promise<string> {
  await loadErrors();
  const said = saidBy(toldError, `${args?.what}`, args);
  if (said === null) return untoldText(code, sentenceFrom(error));
  const field = args?.field;
  return field === undefined || said.startsWith(`${field}: `) ? said : `${field}: ${said}`;
}

/** What is wrong with one of a list, as the gateway's row has it. */
export interface RowFault {
  error: string | null;
  error_args?: Args;
}

/** The same of a row; what draws it is drawn again once errors are there. Null if nothing is wrong. */
export function rowFaultText({ error, error_args: args }: RowFault): string | null {
  if (error === null) return null;
  if (args !== undefined) void loadErrors();
  return saidBy(toldError, `${args?.what}`, args) ?? inItsWords(sentenceFrom(error));
}

/** By its code alone; an older gateway sends none. */
function untoldText(code: string | null, text: string): string {
  if (shown === "en") return text;
  return `${Object.hasOwn(ERRORS, code ?? "") ? ERRORS[code as Code] : say("The gateway says:")}${inItsWords(text)}`;
}

const ERRORS: Readonly<Record<Code, string>> = {
  bad_request: say("The gateway does not accept this."),
  not_found: say("This does not exist, or no longer does."),
  forbidden: say("This is not allowed."),
  rate_limited: say("There were too many requests at once."),
  no_answer: say("The server does not answer."),
  interrupted: say("Another action came first."),
  kernel_refused: say("The gateway’s operating system has refused it."),
  storage_full: say("The gateway’s disk is full or read-only."),
  timed_out: say("It took too long."),
  unable: say("The gateway cannot do this now."),
};

/** What is wrong with a field. */
export function faultText(text: string, isTold: boolean): string {
  return shown === "en" || isTold ? text : `${say("This is not right.")}${inItsWords(text)}`;
}

/** Whether an error is in the reader's language, from its field to its end or to the gateway's reason. */
export function isTold(error: string): boolean {
  return shown !== "en" && (!error.includes("\n") || /^[\w.[\]]+: /.test(error));
}

/** The part of an error that begins with the field, if it names one. */
export function fromItsField(error: string): string {
  return isTold(error) ? error : itsWords(error);
}

/** What an alert says. A reason is the gateway's own text, and the last of its sentence. */
export function alertText({ code, args, message }: ShownAlert): string {
  const key = args?.what === undefined ? code : `${code}.${args.what}`;
  return saidBy(told, key, args) ?? inItsWords(sentenceFrom(message));
}

/** A sentence of the gateway's rows, of which a reason is its own text; null in English, and if it cannot be said. */
function saidBy(tell: typeof told, key: string, args: Args | undefined): string | null {
  if (args?.reason === undefined) return args === undefined ? null : tell(key, args);
  return tell(key, { ...args, reason: inItsWords(`${args.reason}`) });
}

type ShownAlert = Pick<SecurityAlert, "code" | "args" | "message">;

/** What a check has found. */
export function foundText({ code, args, found }: Pick<Check, "code" | "args" | "found">): string {
  return saidBy(toldFinding, code, args) ?? inItsWords(sentenceFrom(found));
}

/** What to do about it; null if nothing. */
export function adviceText({ code, args, advice }: Pick<Check, "code" | "args" | "advice">): string | null {
  return advice && (saidBy(toldFinding, `${code}.advice`, args) ?? inItsWords(advice));
}

/** The title of a check. One that this page does not know has the gateway's. */
export function checkTitle({ id, title }: Pick<Check, "id" | "title">): string {
  const [, tunnel] = /^tunnel:(.*)$/.exec(id) ?? [];
  if (tunnel !== undefined)
    return say("{tunnel, select, main {Main tunnel} other {Tunnel {tunnel}}}", { tunnel });
  return told(`check_${id}`, {}) ?? title;
}
