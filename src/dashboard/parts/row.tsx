import type { ComponentChildren } from "preact";
import type { Tone } from "../../shared/verdict-texts.ts";
import type { RowFault } from "../codes.ts";
import { say } from "../language.ts";
import { Button, type ButtonProps } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { Trouble } from "./trouble.tsx";

interface RowProps {
  icon?: IconName;
  tone?: Tone;
  name: string;
  /** A word about it beside its name, and whether that is a good one. */
  label?: { text: string; isGood?: boolean } | false;
  /** What is known about it, a line each. */
  facts: readonly ComponentChildren[];
  /** What is wrong with it, and what that means. */
  fault?: RowFault;
  intro?: string;
  /** What can be chosen of it. */
  children?: ComponentChildren;
  /** What can be done with it. */
  actions?: ComponentChildren;
}

/** One of a list: its name, what is known about it, and what can be done with it. */
export function Row({ icon, tone, name, label, facts, fault, ...props }: RowProps) {
  return (
    <li class={`item row ${tone === undefined ? "" : `tone-${tone}`}`}>
      {icon && <Icon name={icon} />}
      <div class="item-what">
        <p>
          <strong>{name}</strong>{" "}
          {label && <span class={`label ${label.isGood ? "online" : "own"}`}>{label.text}</span>}
        </p>
        {facts.map(
          (fact, at) =>
            fact && (
              <p key={at} class="quiet small">
                {fact}
              </p>
            ),
        )}
        {fault && <Trouble of={fault} {...(props.intro && { intro: props.intro })} />}
      </div>
      {props.children}
      {props.actions && <div class="card-buttons">{props.actions}</div>}
    </li>
  );
}

interface RemoveProps extends Pick<ButtonProps, "work" | "action"> {
  /** For screen readers: "Remove the token phone". */
  label: string;
  /** What is asked before: a question, and what will happen. */
  title: string;
  text: ComponentChildren;
}

/** Removes one of a list, once asked. */
export function Remove({ title, text, ...props }: RemoveProps) {
  return (
    <Button kind="danger" doing={say("Removing…")} ask={{ title, text, confirm: say("Remove") }} {...props}>
      {say("Remove")}
    </Button>
  );
}
