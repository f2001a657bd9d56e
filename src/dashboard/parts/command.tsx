import { useRef, useState } from "preact/hooks";
import { say } from "../language.ts";
import { Icon } from "./icon.tsx";

/** A command to type on the gateway, or another text, with a button that copies it. */
export function Command({ text, name = text }: { text: string; name?: string }) {
  const code = useRef<HTMLElement>(null);
  const [outcome, setOutcome] = useState("");
  const copy = () => {
    if (code.current !== null) getSelection()?.selectAllChildren(code.current);
    // The page has no secure context, so it has no `navigator.clipboard`.
    setOutcome(
      document.execCommand("copy")
        ? say("Copied.")
        : say("It is selected: copy it with the keyboard or the menu."),
    );
  };
  return (
    <div class="copied-command">
      <code ref={code} class="command">
        {text.split(" ").flatMap((word, at) => [at > 0 && " ", <span key={at}>{word}</span>])}
      </code>
      <button type="button" class="button" aria-label={say("Copy {name}", { name })} onClick={copy}>
        {say("Copy")}
      </button>
      <p class="outcome" role="status">
        {outcome !== "" && <Icon name="good" />}
        {outcome}
      </p>
    </div>
  );
}
