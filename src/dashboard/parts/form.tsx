import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { FormName, Given, Rule } from "../../http/forms.ts";
import type { Fault } from "../fault.ts";
import { say } from "../language.ts";
import { useFaults } from "./faults.ts";
import { Field, Select } from "./field.tsx";
import { FormFrame, type FormFrameProps } from "./form-frame.tsx";
import { type FieldRow, givenIn, keptIn, type Shown, shownIn, type Typed, textOf } from "./form-values.ts";

export interface Row extends FieldRow {
  /** In place of a line of text or a choice. */
  draw?: (field: Drawn) => ComponentChildren;
  /** Below the field. */
  more?: (field: Drawn) => ComponentChildren;
}

/** What ties a field to its text and its fault. */
export interface Drawn {
  name: string;
  label: string;
  hint?: string | undefined;
  value: string;
  onValue: (text: string) => void;
  fault: string | null;
}

type Rows<Key extends string> = { readonly [Name in Key]?: Row | false };
type KeyOf<Name extends FormName, Own extends string> = (keyof Given<Name> & string) | Own;
type Texts<Name extends FormName, Own extends string> = { readonly [Key in KeyOf<Name, Own>]?: string };
type Filled<Name extends FormName, Own extends string> = Given<Name> & Record<Own, string>;

/** `Own` are fields that the request does not have. */
interface FormProps<Name extends FormName, Own extends string>
  extends Omit<FormFrameProps, "work" | "doing" | "check" | "faults" | "children"> {
  /** Whose schema it is. */
  of: Name;
  /** In the order in which they are shown; it may depend on what was typed and chosen. */
  rows: Rows<KeyOf<Name, Own>> | ((texts: Texts<Name, Own>) => Rows<KeyOf<Name, Own>>);
  work: (given: Filled<Name, Own>) => ReturnType<FormFrameProps["work"]>;
  doing: string | ((texts: Texts<Name, Own>) => string);
  check?: (given: Filled<Name, Own>) => Fault<string> | null;
  children?: ComponentChildren;
}

/**
 * A form from the schema that validates its request: a row a field. The browser checks the same bounds, and what the gateway
 * refuses is shown at the field that it names.
 *
 *     <Form of="token" rows={{ name: { label: say("Name") } }} work={(given) => change("POST", "tokens", given)} … />
 */
export function Form<Name extends FormName, Own extends string = never>(props: FormProps<Name, Own>) {
  const { of, rows: wanted, work, doing, check, children, ...frame } = props;
  const { texts, rows, onText, empty } = useRows<Texts<Name, Own>>(of, wanted);
  const faults = useFaults(rows.map(({ name }) => name));
  const given = () => givenIn(rows) as Filled<Name, Own>;
  const done = async () => {
    const said = await work(given());
    empty();
    return said;
  };
  const draw = (shown: Shown<Row>) => (
    <RowField key={shown.name} of={shown} fault={faults.textFor(shown.name)} onText={onText(shown)} />
  );
  const rare = rows.filter(({ row }) => row.isRare);
  return (
    <FormFrame
      {...frame}
      faults={faults}
      work={done}
      doing={typeof doing === "function" ? doing(texts) : doing}
      check={() => check?.(given()) ?? null}
    >
      {rows.filter(({ row }) => !row.isRare).map(draw)}
      {rare.length > 0 && (
        <details open={rare.some(({ name }) => name === faults.fault?.field) || undefined}>
          <summary>{say("More settings")}</summary>
          <div class="form">{rare.map(draw)}</div>
        </details>
      )}
      {children}
    </FormFrame>
  );
}

/** The rows with what was typed and chosen. */
function useRows<T>(of: FormName, wanted: Rows<string> | ((texts: T) => Rows<string>)) {
  const [typed, setTyped] = useState<Typed>({});
  const texts = Object.fromEntries(Object.entries(typed).map(([name, { text }]) => [name, text])) as T;
  const rows = shownIn<Row>(of, typeof wanted === "function" ? wanted(texts) : wanted, typed);
  const onText =
    ({ name, row }: Shown) =>
    (text: string) =>
      setTyped((before) => ({ ...before, [name]: { text, over: textOf(row.value) } }));
  return { texts, rows, onText, empty: () => setTyped((before) => keptIn(before, rows)) };
}

function RowField(props: { of: Shown<Row>; fault: string | null; onText: (text: string) => void }) {
  const { name, row, rule, text } = props.of;
  const { value: _, label, hint = hintOf(rule), options, draw, more, isRare, type, ...others } = row;
  const { is, nullable, ...bounds } = rule;
  const field = { name, label, hint, fault: props.fault, value: text, onValue: props.onText };
  if (draw !== undefined) return <>{draw(field)}</>;
  if (options !== undefined) return <Select {...field} options={options} />;
  const isOptional = !(nullable || is === "list" || bounds.required || row.required);
  return (
    <Field
      {...bounds}
      {...others}
      {...field}
      type={is === "number" ? is : (type ?? "text")}
      more={more?.(field)}
      label={
        <>
          {label} {isOptional && <span class="quiet small">{say("optional")}</span>}
        </>
      }
    />
  );
}

function hintOf({ min, max }: Rule): string | undefined {
  return min === undefined || max === undefined
    ? undefined
    : say("{min, number} to {max, number}", { min, max });
}
