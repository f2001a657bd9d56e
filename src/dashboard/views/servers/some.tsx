import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { say } from "../../language.ts";

/** How many more rows are drawn at a time. A list of 20,000 stays as quick as a short one. */
const STEP = 50;

/** The first of many rows, and a button for more. */
export function Some<T>({
  of: all,
  children,
}: {
  of: readonly T[];
  children: (one: T) => ComponentChildren;
}) {
  const [most, setMost] = useState(STEP);
  const rest = all.length - most;
  return (
    <>
      <ul class="servers">{all.slice(0, most).map(children)}</ul>
      {rest > 0 && (
        <button type="button" class="button plain more" onClick={() => setMost(most + STEP)}>
          {say("Show {more} more of {count, plural, one {# server} other {# servers}}", {
            more: Math.min(rest, STEP),
            count: all.length,
          })}
        </button>
      )}
    </>
  );
}
