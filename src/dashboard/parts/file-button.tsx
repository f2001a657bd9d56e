import type { ComponentChildren } from "preact";
import { useMayChange } from "../access.ts";
import { importFiles } from "../imports.ts";
import { Icon } from "./icon.tsx";

/** Chooses files to import: for keyboards and phones, which drop nothing. */
export function FileButton({ kind = "", children }: { kind?: "primary" | ""; children: ComponentChildren }) {
  const mayChange = useMayChange();
  const choose = (input: HTMLInputElement) => {
    importFiles(input.files ?? []);
    // So that the same file can be chosen again.
    input.value = "";
  };
  return (
    <label class={`button file ${kind}`} aria-disabled={!mayChange}>
      <Icon name="file" /> {children}
      {/* Phones do not know the type of .conf files, and would not offer them if it were asked for. */}
      <input
        type="file"
        multiple
        class="hidden"
        disabled={!mayChange}
        onChange={({ currentTarget }) => choose(currentTarget)}
      />
    </label>
  );
}
