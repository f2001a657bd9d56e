import type { ComponentChildren } from "preact";
import { useContext, useId } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { FormLacks, FormLocked } from "./lacks.ts";
import type { Option } from "./option.ts";
import { Options } from "./options.tsx";
import { Told } from "./told.tsx";

interface About {
  label: ComponentChildren;
  hint?: string | undefined;
  /** What is wrong with it. */
  fault?: string | null | undefined;
}

interface LabelledProps extends About {
  id: string;
  children: ComponentChildren;
  /** Below all that. */
  more?: ComponentChildren;
}

/** What the field of a form is called, and what is said about it. */
function Labelled({ id, label, hint, fault, children, more }: LabelledProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <FaultText id={`${id}-fault`} text={fault} />
      {hint !== undefined && (
        <p id={`${id}-hint`} class="quiet small">
          {hint}
        </p>
      )}
      {more}
    </div>
  );
}

/** What is wrong with a field, if anything. */
export function FaultText({ id, text }: { id: string; text: string | null | undefined }) {
  if (text == null) return null;
  return (
    <p id={id} class="outcome failed">
      <Icon name="warning" /> <Told text={text} />
    </p>
  );
}

/** The ids of what is said about a field, for screen readers. */
function saidOf(id: string, { hint, fault }: Omit<About, "label">): string | undefined {
  return (
    [fault != null && `${id}-fault`, hint !== undefined && `${id}-hint`].filter(Boolean).join(" ") ||
    undefined
  );
}

interface FieldProps extends About {
  value: string;
  onValue: (value: string) => void;
  /** As errors call it. */
  name?: string;
  type?: "text" | "time" | "number" | "password";
  autocomplete?: "current-password";
  required?: boolean;
  maxLength?: number;
  min?: number;
  max?: number;
  /** Numbers with decimals, too. */
  step?: "any";
  /** What it must be, as a regular expression, and in words. */
  pattern?: string;
  title?: string;
  /** Values that are likely. */
  suggestions?: readonly Option[] | undefined;
  /** Below all that. */
  more?: ComponentChildren;
}

/** A line of text, a time of day or a number. */
export function Field({
  label,
  hint,
  onValue,
  more,
  suggestions,
  name: own,
  type = "text",
  ...props
}: FieldProps) {
  const id = useId();
  const name = own ?? id;
  const lack = useContext(FormLacks).get(name);
  const { fault: found, ...input } = props;
  const fault = lack ?? found;
  return (
    <Labelled id={id} label={label} hint={hint} fault={fault} more={more}>
      <input
        id={id}
        name={name}
        class="input"
        // The types of attributes differ by that of the field.
        type={type as "text"}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        disabled={useContext(FormLocked)}
        aria-invalid={fault != null}
        aria-describedby={saidOf(id, { hint, fault })}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
        list={suggestions && `${id}-list`}
        {...input}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          <Options of={suggestions} value="" />
        </datalist>
      )}
    </Labelled>
  );
}

interface SelectProps<Value extends string> extends About {
  name?: string;
  value: Value;
  onValue: (value: Value) => void;
  options: readonly Option<Value>[];
}

/** One of several values. */
export function Select<Value extends string>({
  value,
  onValue,
  options,
  name,
  ...about
}: SelectProps<Value>) {
  const id = useId();
  return (
    <Labelled id={id} {...about}>
      <select
        id={id}
        class="input"
        name={name}
        value={value}
        disabled={useContext(FormLocked)}
        aria-invalid={about.fault != null}
        aria-describedby={saidOf(id, about)}
        onChange={({ currentTarget }) => onValue(currentTarget.value as Value)}
      >
        <Options of={options} value={value} />
      </select>
    </Labelled>
  );
}
