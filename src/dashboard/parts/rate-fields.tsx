import type { RateTyped } from "../typed-rate.ts";
import { Field } from "./form.tsx";

interface Props {
  typed: RateTyped;
  onTyped: (typed: RateTyped) => void;
  /** What the fields are called. */
  down: string;
  up: string;
  hint: string;
}

/** Mbit/s each way. */
export function RateFields({ typed, onTyped, down, up, hint }: Props) {
  const field = { type: "number", min: 0.1, max: 10_000, step: "any" } as const;
  return (
    <>
      <Field
        {...field}
        label={down}
        value={typed.down}
        onValue={(text) => onTyped({ ...typed, down: text })}
      />
      <Field
        {...field}
        label={up}
        hint={hint}
        value={typed.up}
        onValue={(text) => onTyped({ ...typed, up: text })}
      />
    </>
  );
}
