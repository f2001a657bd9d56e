import type { ComponentChildren } from "preact";
import type { Device } from "../../../devices/schema.ts";
import { say } from "../../language.ts";
import { SearchField } from "../../parts/search-field.tsx";
import { isOfKind, type Kind } from "./selection.ts";

const KINDS: readonly (readonly [kind: Kind, text: string])[] = [
  ["all", say("All")],
  ["new", say("New")],
  ["blocked", say("Blocked")],
  ["direct", say("Direct")],
];

interface SearchProps {
  devices: readonly Device[];
  text: string;
  kind: Kind;
  onText: (text: string) => void;
  onKind: (kind: Kind) => void;
  /** Beside them. */
  children: ComponentChildren;
}

/** Finds devices by a text, and by what they are. Kinds that no device is of are left out. */
export function Search({ devices, text, kind, onText, onKind, children }: SearchProps) {
  const kinds = KINDS.map(([each, title]) => ({
    each,
    title,
    count: devices.filter((device) => isOfKind(device, each)).length,
  })).filter(({ each, count }) => count > 0 || each === kind);
  return (
    <div class="search">
      <SearchField
        label={say("Search by name, address or exit")}
        placeholder={say("Name, address or exit")}
        text={text}
        onText={onText}
      />
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line */}
      <div role="group" aria-label={say("Which devices")} class="choices">
        {kinds.map(({ each, title, count }) => (
          <button
            key={each}
            type="button"
            class="chip"
            aria-pressed={each === kind}
            onClick={() => onKind(each)}
          >
            {title} <span class="chip-count">{count}</span>
          </button>
        ))}
      </div>
      {children}
    </div>
  );
}
