import type { ComponentChildren } from "preact";
import { useContext, useId, useState } from "preact/hooks";
import { useMayChange, useReader } from "../access.ts";
import { type Action, useAction, type Work } from "../action.ts";
import type { Fault } from "../fault.ts";
import { Outcome } from "./button.tsx";
import type { Faults } from "./faults.ts";
import { Icon } from "./icon.tsx";
import { FormLacks, FormLocked, lacksIn, NO_LACKS } from "./lacks.ts";
import { type Option, Options } from "./options.tsx";
import { Told } from "./told.tsx";

/**
 * Fields and the button that does `work` with them, as Enter does. What is wrong with them is shown at each of them;
 * progress is in the button, the outcome below it.
 */
export function Form(props: {
  work: Work;
  /** What the button says, and what it says meanwhile. */
  submit: string;
  doing: string;
  /** If the outcome is to outlive the form. */
  action?: Action;
  /** If errors of the work are shown at the fields that they name. */
  faults?: Pick<Faults<string>, "form" | "fault" | "watched">;
  /** What else is wrong with a field, which the browser cannot check. */
  check?: () => Fault<string> | null;
  /** More buttons. */
  buttons?: ComponentChildren;
  /** Whether it changes nothing on the gateway, so that anyone may send it. */
  isForAll?: true;
  children: ComponentChildren;
}) {
  const id = useId();
  const own = useAction();
  const { action = own, faults } = props;
  const [lacks, setLacks] = useState(NO_LACKS);
  const mayChange = useMayChange() || props.isForAll === true;
  const isLocked = useReader() !== null && props.isForAll !== true;
  const isBusy = action.running?.button === id;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy || !mayChange) return;
    const form = event.currentTarget as HTMLFormElement;
    const own = props.check?.() ?? null;
    const found = new Map([...(own === null ? [] : [[own.field, own.text] as const]), ...lacksIn(form)]);
    setLacks(found);
    const first = [...form.elements].find((each) => found.has(each.getAttribute("name") ?? ""));
    if (first === undefined) action.start(id, props.doing, faults?.watched(props.work) ?? props.work);
    else (first as HTMLElement).focus();
  };
  const mend = ({ target }: Event) => {
    const { name } = target as HTMLInputElement;
    if (lacks.has(name)) setLacks(new Map([...lacks].filter(([each]) => each !== name)));
  };
  return (
    <form ref={faults?.form ?? null} class="form" noValidate onSubmit={submit} onInput={mend}>
      <FormLocked.Provider value={isLocked}>
        <FormLacks.Provider value={lacks}>{props.children}</FormLacks.Provider>
      </FormLocked.Provider>
      <div class="form-buttons">
        <button type="submit" class="button" aria-busy={isBusy} aria-disabled={isBusy || !mayChange}>
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
  /** The id of the suggestions. */
  list?: string;
  /** Below all that. */
  more?: ComponentChildren;
}

/** A line of text, a time of day or a number. */
export function Field({ label, hint, onValue, more, name: own, type = "text", ...props }: FieldProps) {
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
