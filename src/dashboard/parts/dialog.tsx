import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { useMayChange } from "../access.ts";
import { say } from "../language.ts";
import { Icon } from "./icon.tsx";

interface DialogProps {
  title: string;
  /** What it shows is never shown again, so a click beside it does nothing, and a button says that one has it. */
  isLastChance?: true;
  /** Beside that button. */
  buttons?: ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog while it is drawn; Escape, the close button and a click beside it call `onClose`. */
export function Dialog(props: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before anything else can be clicked.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>("form input, form select")?.focus();
    return () => {
      // The browser gives the focus back when a dialog is closed, but not when it is removed.
      if (before instanceof HTMLElement) queueMicrotask(() => before.focus());
    };
  }, []);
  const onBackdrop = (event: MouseEvent) => {
    if (event.target === dialog.current && !props.isLastChance) props.onClose();
  };
  // At once: the browser tells of a dialog that it has closed with the next frame only, after what is pressed meanwhile.
  const onCancel = (event: Event) => {
    // A file picker in the dialog has an event of that name, too.
    if (event.target !== dialog.current) return;
    event.preventDefault();
    props.onClose();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={onCancel}
      onClose={props.onClose}
      onClick={onBackdrop}
    >
      <div class="dialog-content">
        <header class="dialog-head">
          <h2 id={id}>{props.title}</h2>
          <button type="button" class="button plain" aria-label={say("Close")} onClick={props.onClose}>
            <Icon name="close" />
          </button>
        </header>
        {props.children}
        {props.isLastChance && (
          <div class="dialog-buttons">
            {props.buttons}
            <button type="button" class="button primary" onClick={props.onClose}>
              {say("Done")}
            </button>
          </div>
        )}
      </div>
    </dialog>
  );
}

/** What is asked before something that cannot simply be undone: what will happen, and to whom. */
export interface Question {
  /** As a question: "Remove the tunnel tv?" */
  title: string;
  text: ComponentChildren;
  /** What the button that does it says, such as "Remove". */
  confirm: string;
}

/** Asks; the safe answer has the focus. */
export function Confirmation(props: Question & { onConfirm: () => void; onClose: () => void }) {
  const safe = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => safe.current?.focus(), []);
  const mayChange = useMayChange();
  const confirm = () => {
    if (!mayChange) return;
    props.onClose();
    props.onConfirm();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>{props.text}</p>
      <div class="dialog-buttons">
        <button ref={safe} type="button" class="button" onClick={props.onClose}>
          {say("Cancel")}
        </button>
        <button type="button" class="button danger" aria-disabled={!mayChange} onClick={confirm}>
          {props.confirm}
        </button>
      </div>
    </Dialog>
  );
}
