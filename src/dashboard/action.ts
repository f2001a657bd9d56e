import { useCallback, useRef, useState } from "preact/hooks";

/**
 * Something that a person does to the gateway, from the click to its outcome. Buttons that share an action cancel each
 * other's outcome: only that of the last click is shown, so a connect that a disconnect interrupts is no error.
 */
export interface Action {
  /** The button that was clicked last, while its work goes on. */
  readonly running: { readonly button: string; readonly doing: string } | null;
  /** Why the last one failed, as a sentence; or what it did, if there is something to say. */
  readonly outcome: { readonly failed: boolean; readonly text: string } | null;
  /** `work` may return a sentence that says what was done. */
  readonly start: (button: string, doing: string, work: Work) => void;
}

// biome-ignore lint/suspicious/noConfusingVoidType: most work has nothing to say
export type Work = () => Promise<string | void>;

export function useAction(): Action {
  const [state, setState] = useState<Pick<Action, "running" | "outcome">>({ running: null, outcome: null });
  const latest = useRef(0);
  const start = useCallback((button: string, doing: string, work: Work) => {
    latest.current += 1;
    const own = latest.current;
    const end = (outcome: Action["outcome"]) => {
      if (latest.current === own) setState({ running: null, outcome });
    };
    setState({ running: { button, doing }, outcome: null });
    work().then(
      (text) => end(typeof text === "string" ? { failed: false, text } : null),
      (error: unknown) => end({ failed: true, text: error instanceof Error ? error.message : String(error) }),
    );
  }, []);
  return { ...state, start };
}
