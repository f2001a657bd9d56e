import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { type Action, useAction, type Work } from "../action.ts";
import { useStore } from "../store.ts";
import { Outcome } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** Fields and the button that does `work` with them, as Enter does. Progress is in the button, the outcome below it. */
export function Form(props: {
  work: Work;
  /** What the button says, and what it says meanwhile. */
  submit: string;
  doing: string;
  /** If the outcome is to outlive the form. */
  action?: Action;
  /** More buttons. */
  buttons?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = useId();
  const own = useAction();
  const action = props.action ?? own;
  const isLost = useStore(({ connection }) => connection.name === "lost");
  const isBusy = action.running?.button === id;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isBusy && !isLost) action.start(id, props.doing, props.work);
  };
  return (
    <form class="form" onSubmit={submit}>
      {props.children}
      <div class="form-buttons">
        <button type="submit" class="button" aria-busy={isBusy} aria-disabled={isBusy || isLost}>
          {isBusy && <Icon name="wait" />}
          {isBusy ? props.doing : props.submit}
        </button>
        {props.buttons}
      </div>
      <Outcome of={action} />
    </form>
  );
}

/** What the field of a form is called, and what is said about it. */
export function Labelled(props: {
  id: string;
  label: string;
  hint?: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <div class="field">
      <label for={props.id}>{props.label}</label>
      {props.children}
      {props.hint !== undefined && (
        <p id={`${props.id}-hint`} class="quiet small">
          {props.hint}
        </p>
      )}
    </div>
  );
}

interface FieldProps {
  label: string;
  hint?: string | undefined;
  value: string;
  onValue: (value: string) => void;
  required?: boolean;
  maxLength?: number;
  /** What it must be, as a regular expression, and in words. */
  pattern?: string;
  title?: string;
  /** The id of the suggestions. */
  list?: string;
}

/** A line of text. */
export function Field({ label, hint, onValue, ...input }: FieldProps) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <input
        id={id}
        class="input"
        type="text"
        autocomplete="off"
        spellcheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
        {...input}
      />
    </Labelled>
  );
}
