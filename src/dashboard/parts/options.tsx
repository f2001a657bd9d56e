import type { Option } from "./option.ts";

/** What a `select` offers. */
export function Options({ of, value: chosen }: { of: readonly Option[]; value: string }) {
  return (
    <>
      {of.map(({ value, text }) => (
        <option key={value} value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </>
  );
}
