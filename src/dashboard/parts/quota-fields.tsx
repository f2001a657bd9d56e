import { say } from "../language.ts";
import type { QuotaTyped } from "../typed-quota.ts";
import { Field, Select } from "./form.tsx";
import { RateFields } from "./rate-fields.tsx";

/** What the fields and the choices are called. */
export interface QuotaLabels {
  label: string;
  blocked: string;
  slower: string;
  down: string;
  up: string;
}

interface Props extends QuotaLabels {
  typed: QuotaTyped;
  onTyped: (typed: QuotaTyped) => void;
}

/** How much, and what happens then. */
export function QuotaFields({ typed, onTyped, label, blocked, slower, down, up }: Props) {
  const set = (some: Partial<QuotaTyped>) => onTyped({ ...typed, ...some });
  return (
    <>
      <Field
        type="number"
        min={1}
        max={10_000_000}
        label={label}
        hint={say("Sent and received together. Empty means unlimited.")}
        value={typed.megabytes}
        onValue={(megabytes) => set({ megabytes })}
      />
      <Select
        label={say("The quota begins again")}
        value={typed.every}
        onValue={(every) => set({ every })}
        options={[
          { value: "day", text: say("each day") },
          { value: "month", text: say("each month") },
        ]}
      />
      <Select
        label={say("At the end of the quota")}
        value={typed.end}
        onValue={(end) => set({ end })}
        options={[
          { value: "blocked", text: blocked },
          { value: "slow", text: slower },
          { value: "told", text: say("Only an alert") },
        ]}
      />
      {typed.end === "slow" && (
        <RateFields
          typed={typed.rate}
          onTyped={(rate) => set({ rate })}
          down={down}
          up={up}
          hint={say("Empty means no limit.")}
        />
      )}
    </>
  );
}
