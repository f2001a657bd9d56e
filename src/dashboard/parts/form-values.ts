import { formRules } from "../../http/forms.ts" with { type: "macro" };
import type { FormName, Rule } from "../../http/forms.ts";
import { wordsIn } from "../destination.ts";
import type { Option } from "./option.ts";

const RULES = formRules();

/** What a field is called, and what else the schema of the request does not say about it. */
export interface FieldRow {
  label: string;
  hint?: string | undefined;
  /** What there is already; without it the field is emptied once the work is done. */
  value?: string | number | boolean | readonly string[] | null | undefined;
  /** The closed set that it is one of. The first one is chosen at the beginning. */
  options?: readonly Option[];
  suggestions?: readonly Option[];
  type?: "password" | "time";
  /** Although the request may lack it. */
  required?: true;
  /** A narrower pattern, and a pattern in words. */
  pattern?: string;
  title?: string;
  /** Few need it, so it is folded away. */
  isRare?: true;
}

/** The text of a field, and that of the value that it was typed over: another value takes its place. */
export type Typed = Readonly<Record<string, { text: string; over: string }>>;

/** A field with its text. */
export interface Shown<Row extends FieldRow = FieldRow> {
  name: string;
  row: Row;
  rule: Rule;
  text: string;
}

/** The fields of a form. */
export function shownIn<Row extends FieldRow>(
  of: FormName,
  rows: Readonly<Record<string, Row | false | undefined>>,
  typed: Typed = {},
): Shown<Row>[] {
  return Object.entries(rows).flatMap(([name, row]) => {
    if (!row) return [];
    const own = textOf(row.value);
    const found = typed[name];
    const text = found?.over === own ? found.text : own;
    return [{ name, row, rule: RULES[of][name] ?? {}, text: offeredIn(row, text) }];
  });
}

/** Of a choice, the first one if nothing else of it is chosen. */
function offeredIn({ options }: FieldRow, text: string): string {
  return options?.every(({ value }) => value !== text) ? (options[0]?.value ?? "") : text;
}

export function textOf(value: FieldRow["value"]): string {
  return Array.isArray(value) ? value.join(", ") : String(value ?? "");
}

/** What stays once the work is done: changes of what there is, and what was chosen. */
export function keptIn(typed: Typed, shown: readonly Shown[]): Typed {
  const kept = shown.filter(({ row }) => row.value !== undefined || row.options !== undefined);
  return Object.fromEntries(
    Object.entries(typed).filter(([name]) => kept.some((each) => each.name === name)),
  );
}

/** What the fields give: numbers and lists, null for what is empty, nothing for what may be left out. */
export function givenIn(shown: readonly Shown[]): Record<string, unknown> {
  return Object.fromEntries(shown.map((each) => [each.name, valueIn(each)]));
}

function valueIn({ rule: { is, nullable, required }, row, text: typed }: Shown): unknown {
  // A password may begin with spaces.
  const text = row.type === "password" ? typed : typed.trim();
  if (is === "list") return wordsIn(text);
  if (is === "boolean") return text === "true";
  if (text === "") return nullable ? null : required ? text : undefined;
  return is === "number" ? Number(text) : text;
}
