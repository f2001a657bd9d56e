import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { useMayChange, useReader } from "../access.ts";
import { type Action, useAction, type Work } from "../action.ts";
import type { Fault } from "../fault.ts";
import { Outcome } from "./button.tsx";
import type { Faults } from "./faults.ts";
import { Icon } from "./icon.tsx";
import { FormLacks, FormLocked, lacksIn, NO_LACKS } from "./lacks.ts";

export interface FormFrameProps {
  work: Work;
  /** What the button says, and what it says meanwhile. */
  submit: string;
  doing: string;
  /** If the outcome is to outlive the form. */
  action?: Action | undefined;
  /** If errors of the work are shown at the fields that they name. */
  faults?: Pick<Faults<string>, "form" | "fault" | "watched">;
  /** What else is wrong with a field, which the browser cannot check. */
  check?: () => Fault<string> | null;
  /** More buttons. */
  buttons?: ComponentChildren;
  /** Whether it changes nothing on the gateway, so that anyone may send it. */
  isForAll?: true;
  children: ComponentChildren;
}

/**
 * Fields and the button that does `work` with them, as Enter does. What is wrong with them is shown at each of them;
 * progress is in the button, the outcome below it.
 */
export function FormFrame(props: FormFrameProps) {
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
