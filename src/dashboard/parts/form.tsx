import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { type Action, useAction, type Work } from "../action.ts";
import { useStore } from "../store.ts";
import { Outcome } from "./button.tsx";
import type { Option } from "./choice.tsx";
import type { Faults } from "./faults.ts";
import { Icon } from "./icon.tsx";

/** Fields and the button that does `work` with them, as Enter does. Progress is in the button, the outcome below it. */
export function Form(props: {
  work: Work;
  /** What the button says, and what it says meanwhile. */
  submit: string;
  doing: string;
  /** If the outcome is to outlive the form. */
  action?: Action;
  /** If errors are shown at the fields that they name; the browser then checks nothing itself. */
  faults?: Pick<Faults<string>, "form" | "fault" | "watched">;
  /** More buttons. */
  buttons?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = useId();
  const own = useAction();
  const { action = own, faults } = props;
  const isLost = useStore(({ connection }) => connection.name === "lost");
  const isBusy = action.running?.button === id;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isBusy && !isLost) action.start(id, props.doing, faults?.watched(props.work) ?? props.work);
  };
  return (
    <form ref={faults?.form ?? null} class="form" noValidate={faults !== undefined} onSubmit={submit}>
      {props.children}
      <div class="form-buttons">
        <button type="submit" class="button" aria-busy={isBusy} aria-disabled={isBusy || isLost}>
          {isBusy && <Icon name="wait" />}
          {isBusy ? props.doing : props.submit}
        </button>
        {props.buttons}
      </div>
      {(faults?.fault ?? null) === null && <Outcome of={action} />}
    </form>
  );
}

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
export function Labelled({ id, label, hint, fault, children, more }: LabelledProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {fault != null && (
        <p id={`${id}-fault`} class="outcome failed">
          <Icon name="warning" /> {fault}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="quiet small">
          {hint}
        </p>
      )}
      {more}
    </div>
  );
}

/** The ids of what is said about a field, for screen readers. */
export function saidOf(id: string, { hint, fault }: Omit<About, "label">): string | undefined {
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
  type?: "text" | "time" | "number";
  required?: boolean;
  maxLength?: number;
  min?: number;
  max?: number;
  /** What it must be, as a regular expression, and in words. */
  pattern?: string;
  title?: string;
  /** The id of the suggestions. */
  list?: string;
}

/** A line of text, a time of day or a number. */
export function Field({ label, hint, fault, onValue, ...input }: FieldProps) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint} fault={fault}>
      <input
        id={id}
        class="input"
        type="text"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={fault != null}
        aria-describedby={saidOf(id, { hint, fault })}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
        {...input}
      />
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
        aria-invalid={about.fault != null}
        aria-describedby={saidOf(id, about)}
        onChange={({ currentTarget }) => onValue(currentTarget.value as Value)}
      >
        {options.map((each) => (
          <option key={each.value} value={each.value} selected={each.value === value}>
            {each.text}
          </option>
        ))}
      </select>
    </Labelled>
  );
}
