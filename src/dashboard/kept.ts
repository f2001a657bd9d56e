import { useState } from "preact/hooks";

/**
 * What a person has chosen or typed in a view, such as a search: a reload, and the browser's way back, bring it again.
 * The browser keeps it with this entry of its history, and sends it nowhere. Nothing secret is kept so.
 */
export function useKept<T extends string | boolean>(
  name: string,
  initial: T,
  isPossible: (kept: T) => boolean = () => true,
): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => {
    const known = kept()[name];
    // Another version of the page may have kept it.
    return typeof known === typeof initial && isPossible(known as T) ? (known as T) : initial;
  });
  const set = (next: T) => {
    setValue(next);
    keep(name, next);
  };
  return [value, set];
}

export function kept(): Readonly<Record<string, unknown>> {
  return (history.state ?? {}) as Record<string, unknown>;
}

export function keep(name: string, value: unknown): void {
  try {
    history.replaceState({ ...kept(), [name]: value }, "");
  } catch {
    // A browser takes only so many changes in half a minute; the next one has all of it.
  }
}
