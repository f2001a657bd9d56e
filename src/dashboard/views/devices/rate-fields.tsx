import type { Rate } from "../../../devices/schema.ts";
import { Field } from "../../parts/form.tsx";

/** What a person has typed for each way. Empty is no limit. */
export interface RateTyped {
  down: string;
  up: string;
}

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

export function typedOf(rate: Rate | undefined): RateTyped {
  return { down: `${rate?.down ?? ""}`, up: `${rate?.up ?? ""}` };
}

export function rateIn({ down, up }: RateTyped): Rate {
  return { down: megabitsIn(down), up: megabitsIn(up) };
}

function megabitsIn(text: string): number | null {
  return text === "" ? null : Number(text);
}
