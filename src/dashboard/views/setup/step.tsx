import type { ComponentChildren } from "preact";
import { Icon } from "../../parts/icon.tsx";

interface StepProps {
  number: number;
  title: string;
  /** What was done, as a sentence; the step is then closed. Null if it was not. */
  done: string | null;
  /** Whether the steps before it are done. */
  isOpen: boolean;
  children: ComponentChildren;
}

/** One of the first steps: to come, open, or done. */
export function Step({ number, title, done, isOpen, children }: StepProps) {
  return (
    <li class={`card step ${isOpen ? "" : "later"}`}>
      <h2>
        <span class={`number ${done === null ? "" : "tone-protected"}`}>
          {done === null ? number : <Icon name="good" />}
        </span>
        {title}
      </h2>
      {done !== null && <p role="status">{done}</p>}
      {done === null && isOpen && children}
    </li>
  );
}
