import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useMayChange } from "../access.ts";
import { useAction } from "../action.ts";
import { say } from "../language.ts";
import { Outcome } from "./button.tsx";
import { Confirmation, type Question } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import type { Option } from "./option.ts";
import { Options } from "./options.tsx";

interface AutosaveSelectProps {
  /** For screen readers: "Exit of TV". */
  label: string;
  value: string;
  options: readonly Option[];
  /** Throws with a sentence for people. */
  save: (value: string) => Promise<void>;
  /** What is asked before, if anything. */
  ask?: (value: string) => Question | null;
  /** The last option: it opens something, and saves nothing. */
  other?: { text: string; open: () => void };
  /** The answer that `value` comes from: a newer one says what has become of what was chosen. */
  from: unknown;
}

/** No value is called so. */
const OTHER = "…";

/** A select whose value is saved as soon as it is chosen. If that fails, the former one is shown again. */
export function AutosaveSelect({ label, value, options, save, ask, other, from }: AutosaveSelectProps) {
  const id = useId();
  const action = useAction();
  const [chosen, setChosen] = useState<string | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const mayChange = useMayChange();
  const isBusy = action.running !== null;
  const inOrder = useInOrder(save);
  useEffect(() => {
    if (!isBusy && question === null) setChosen(null);
  }, [from]);
  const begin = (next: string) =>
    action.start(id, say("Saving…"), () =>
      inOrder(next).catch((error: unknown) => {
        setChosen(null);
        throw error;
      }),
    );
  const choose = (next: string) => {
    const asked = ask?.(next) ?? null;
    setChosen(next);
    setQuestion(asked);
    if (asked === null) begin(next);
  };
  const offered = other === undefined ? options : [...options, { value: OTHER, text: other.text }];
  return (
    <div class="autosave">
      <select
        class="input"
        aria-label={label}
        aria-busy={isBusy}
        disabled={!mayChange}
        value={chosen ?? value}
        onChange={({ currentTarget }) => {
          if (currentTarget.value !== OTHER) return choose(currentTarget.value);
          currentTarget.value = chosen ?? value;
          other?.open();
        }}
      >
        <Options of={offered} value={chosen ?? value} />
      </select>
      {isBusy && (
        <p class="quiet small" role="status">
          <Icon name="wait" /> {say("Saving…")}
        </p>
      )}
      <Outcome of={action} />
      {question !== null && chosen !== null && (
        <Confirmation
          {...question}
          onConfirm={() => {
            setChosen(chosen);
            begin(chosen);
          }}
          onClose={() => {
            setQuestion(null);
            setChosen(null);
          }}
        />
      )}
    </div>
  );
}

/** Arrow keys choose one value after another: each waits for the one before, and only the last of them is saved. */
function useInOrder(save: (value: string) => Promise<void>): (value: string) => Promise<void> {
  const before = useRef<Promise<unknown>>(Promise.resolve());
  const latest = useRef(0);
  return (value) => {
    latest.current += 1;
    const own = latest.current;
    const saved = before.current
      .catch(() => {})
      .then(() => (latest.current === own ? save(value) : undefined));
    before.current = saved;
    return saved;
  };
}
