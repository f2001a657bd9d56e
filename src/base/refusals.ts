import { COMMON } from "./common-refusals.ts";
import { type Code, codeOf, GatewayError, messageOf } from "./errors.ts";
import { type Args, type ArgsOf, english } from "./message.ts";
import { redacted } from "./secrets.ts";

/**
 * The errors that a client can get, by code, or by code and the field of the request that is always wrong then. An
 * error's name is its key for other languages. Its sentence is without the field, which it begins with on the wire,
 * unless it names `{field}` itself.
 */
type Groups = Readonly<Partial<Record<Kind, Readonly<Record<string, string>>>>>;
type Kind = Code | `${Code}: ${string}`;

/** The sentences of all groups, by the names of the errors. */
type Texts<Own> = { [What in NameIn<Own[keyof Own]>]: TextIn<Own[keyof Own], What> };
type NameIn<Group> = Group extends unknown ? keyof Group & string : never;
type TextIn<Group, What extends string> =
  Group extends Record<What, infer Text extends string> ? Text : never;

export interface ErrorRow {
  code: Code;
  field?: string;
  text: string;
}

/** A field that the row does not name, or that is deeper in the request: "targets: 2: server". */
type Field = Readonly<{ field?: string }>;

/** `code` is another one than the row's, such as that of the cause. */
interface Options extends ErrorOptions {
  code?: Code;
}

type Given<Text extends string> = keyof ArgsOf<Text> extends never
  ? [args?: Field, options?: Options]
  : [args: ArgsOf<Text> & Field, options?: Options];

/** Makes errors by their names. */
interface Refused<Sentences extends Record<string, string>> {
  <What extends keyof Sentences & string>(what: What, ...given: Given<Sentences[What]>): GatewayError;
  readonly rows: Readonly<Record<string, ErrorRow>>;
}

/** Makes the errors of a room, and those of several rooms. */
export function refusals<const Own extends Groups>(
  own: Own & Record<Exclude<keyof Own, Kind>, never>,
): Refused<Texts<Own> & Texts<typeof COMMON>> {
  const rows = { ...rowsOf(COMMON), ...rowsOf(own) };
  const refused = (what: string, given: Args = {}, { code, ...options }: Options = {}) => {
    const row = rows[what] as ErrorRow;
    const args = { what, ...(row.field !== undefined && { field: row.field }), ...shown(given) };
    return new GatewayError(code ?? row.code, sentenceOf(row.text, args), { ...options, args });
  };
  return Object.assign(refused as unknown as Refused<Texts<Own> & Texts<typeof COMMON>>, { rows });
}

/** For this room itself. */
export const refused = refusals({});

function rowsOf(groups: Groups): Record<string, ErrorRow> {
  const rows = Object.entries(groups).flatMap(([group, texts]) => {
    const [code, field] = group.split(": ") as [Code, string?];
    return Object.entries(texts ?? {}).map(([what, text]) => [what, { code, ...(field && { field }), text }]);
  });
  return Object.fromEntries(rows);
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
