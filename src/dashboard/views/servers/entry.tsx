import { useId } from "preact/hooks";
import { say } from "../../language.ts";

interface EntryChoiceProps {
  entries: readonly { country: string; names: readonly string[] }[];
  /** Null for none. */
  entry: string | null;
  onEntry: (entry: string) => void;
}

/** Two hops: through which server, or the nearest one of which place, the servers below are reached. */
export function EntryChoice({ entries, entry, onEntry }: EntryChoiceProps) {
  const id = useId();
  return (
    <div class="entry-choice">
      <label class="quiet" for={id}>
        {say("Connect through")}
      </label>
      <select
        id={id}
        class="input"
        value={entry ?? ""}
        onChange={({ currentTarget }) => onEntry(currentTarget.value)}
      >
        <option value="" selected={entry === null}>
          {say("no entry server")}
        </option>
        {entries.map(({ country, names }) => (
          <optgroup key={country} label={country}>
            {names.map((name) => (
              <option key={name} value={name} selected={name === entry}>
                {name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {entry !== null && (
        <p class="quiet small">
          {say(
            "Two hops: {entry} forwards what is encrypted for the server that you choose. Only servers that can be reached this way are listed.",
            { entry },
          )}
        </p>
      )}
    </div>
  );
}
