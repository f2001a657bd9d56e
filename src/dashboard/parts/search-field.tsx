import { useId } from "preact/hooks";
import { Icon } from "./icon.tsx";

interface SearchFieldProps {
  /** For screen readers. */
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
}

export function SearchField({ label, placeholder, text, onText }: SearchFieldProps) {
  const id = useId();
  return (
    <span class="search-field">
      <label for={id} class="hidden">
        {label}
      </label>
      <Icon name="search" />
      <input
        id={id}
        class="input"
        type="search"
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
    </span>
  );
}
