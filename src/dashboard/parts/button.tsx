import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { useMayChange } from "../access.ts";
import { type Action, useAction, type Work } from "../action.ts";
import { Confirmation, type Question } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { Told } from "./told.tsx";

export interface ButtonProps {
  /** Does it; throws with a sentence for people, as `change` of api.ts does. */
  work: Work;
  /** What the button says meanwhile, such as "Connecting…". */
  doing: string;
  /** Asked before. */
  ask?: Question;
  /** `primary` is the one that helps; there is at most one on a view. */
  kind?: "primary" | "danger" | "plain";
  /** Shared with other buttons, with an `Outcome` of the caller; otherwise the outcome is shown below the button. */
  action?: Action;
  /** For screen readers, if the text alone does not say what it is about: "Remove the server home". */
  label?: string;
  children: ComponentChildren;
}

/**
 * A button that changes something on the gateway. It shows progress at once and its outcome in place:
 *
 *     <Button work={() => change("POST", "disconnect")} doing="Disconnecting…">Disconnect</Button>
 */
export function Button({ work, doing, ask, kind, label, children, ...props }: ButtonProps) {
  const id = useId();
  const own = useAction();
  const action = props.action ?? own;
  const [isAsking, setAsking] = useState(false);
  const mayChange = useMayChange();
  // The text too, because Preact draws a button that takes the place of another one as the same component.
  const isBusy = action.running?.button === id && action.running.doing === doing;
  const begin = () => action.start(id, doing, work);
  const click = ({ detail }: MouseEvent) => {
    // The second click of a double click would meet the button that has taken the place of the first: "Stop".
    if (isBusy || !mayChange || detail > 1) return;
    if (ask === undefined) begin();
    else setAsking(true);
  };
  return (
    <>
      {/* Not `disabled`, which would take the focus away. */}
      <button
        type="button"
        class={`button ${kind ?? ""}`}
        aria-busy={isBusy}
        aria-disabled={isBusy || !mayChange}
        aria-label={isBusy ? undefined : label}
        onClick={click}
      >
        {isBusy && <Icon name="wait" />}
        {isBusy ? doing : children}
      </button>
      {props.action === undefined && <Outcome of={own} />}
      {isAsking && ask !== undefined && (
        <Confirmation {...ask} onConfirm={begin} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

/** A button that opens a form. */
export function FormButton(props: { label?: string; open: () => void; children: ComponentChildren }) {
  const mayChange = useMayChange();
  return (
    <button
      type="button"
      class="button"
      aria-label={props.label}
      aria-disabled={!mayChange}
      onClick={() => mayChange && props.open()}
    >
      {props.children}
    </button>
  );
}

/** What came of an action, where it was clicked; screen readers hear it. */
export function Outcome({ of: { outcome } }: { of: Action }) {
  return (
    <p class={`outcome ${outcome?.failed ? "failed" : ""}`} role="status">
      {outcome !== null && <Icon name={outcome.failed ? "warning" : "good"} />}
      {outcome !== null && <Told text={outcome.text} />}
    </p>
  );
}
