import { type Code, codeOf, GatewayError, messageOf } from "./errors.ts";
import { type Args, type ArgsOf, english } from "./message.ts";
import { redacted } from "./secrets.ts";

/** An error that a client can get: what it says in English, which is its key for other languages, and its code. */
export interface ErrorRow {
  code: Code;
  /** The field of the request that is always wrong then. */
  field?: string;
  /** The sentence without the field, which it begins with on the wire, unless it names `{field}` itself. */
  text: string;
}

type Rows = Readonly<Record<string, ErrorRow>>;

/** A field that the row does not name, or that is deeper in the request: "targets: 2: server". */
type Field = Readonly<{ field?: string }>;

/** `code` is another one than the row's, such as that of the cause. */
interface Options extends ErrorOptions {
  code?: Code;
}

type Given<Text extends string> = keyof ArgsOf<Text> extends never
  ? [args?: Field, options?: Options]
  : [args: ArgsOf<Text> & Field, options?: Options];

/** Makes the errors of a room by the names of their rows. */
export interface Refused<Own extends Rows> {
  <What extends keyof Own & string>(what: What, ...given: Given<Own[What]["text"]>): GatewayError;
  readonly rows: Own;
}

export function refusals<const Own extends Rows>(rows: Own): Refused<Own> {
  const refused = (what: keyof Own & string, given: Args = {}, { code, ...options }: Options = {}) => {
    const row = rows[what] as ErrorRow;
    const args = { what, ...(row.field !== undefined && { field: row.field }), ...shown(given) };
    return new GatewayError(code ?? row.code, sentenceOf(row.text, args), { ...options, args });
  };
  return Object.assign(refused, { rows });
}

function sentenceOf(text: string, args: Args): string {
  const sentence = english(text, args);
  return args.field === undefined || text.includes("{field}") ? sentence : `${args.field}: ${sentence}`;
}

/** A client may have put a key where it does not belong. */
function shown(args: Args): Args {
  const texts = Object.entries(args).map(([name, arg]) => [
    name,
    typeof arg === "string" ? redacted(arg) : arg,
  ]);
  return Object.fromEntries(texts);
}

/** The same error at a place inside a list: "targets: 2: server: …". */
export function within(place: string, error: unknown): GatewayError {
  const [code, message] = [codeOf(error), `${place}: ${messageOf(error)}`];
  const { args } = error instanceof GatewayError ? error : {};
  if (args === undefined) return new GatewayError(code, message);
  const field = args.field === undefined ? place : `${place}: ${args.field}`;
  return new GatewayError(code, message, { args: { ...args, field } });
}
