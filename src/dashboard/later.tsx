import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Pending } from "./parts/pending.tsx";
import { connection } from "./store.ts";
import type * as Views from "./views/others.ts";

const views = signal<typeof Views | null>(null);

/** Whether the gateway has been away since the script could not be had, and is there again. */
const isBack = signal(false);
let isWatched = false;

/** Reads the script of the views that are opened later; once it is there, they open at once. */
export async function loadViews(): Promise<void> {
  try {
    views.value ??= await import("./views/others.ts");
  } catch (error) {
    watchForReturn();
    throw error;
  }
}

function watchForReturn(): void {
  if (isWatched) return;
  isWatched = true;
  let wasLost = false;
  connection.subscribe(({ name }) => {
    wasLost ||= name === "lost";
    if (wasLost && name === "live") isBack.value = true;
  });
}

/**
 * A view that shows a fault does not ask again, and not every browser asks twice for a module that it could not have. If
 * that was because the gateway was starting again, a page that needs it loads itself. Otherwise it does not: the script is
 * gone, and would be the next time.
 */
function reloadOnceBack(): void {
  isBack.subscribe((back) => {
    if (back) location.reload();
  });
}

/** A view of that script, or a part of one that is shown on a click. */
export function later<Props extends object = object>(
  of: (views: typeof Views) => ComponentType<Props>,
): ComponentType<Props> {
  return function Later(props) {
    const [fault, setFault] = useState<unknown>(null);
    useEffect(() => {
      loadViews().catch((error) => {
        reloadOnceBack();
        setFault(error);
      });
    }, []);
    // After an upgrade the gateway has another script: `Guard` says so.
    if (fault !== null) throw fault;
    if (views.value === null) return <Pending of={{ state: "loading" }} />;
    const View = of(views.value);
    return <View {...props} />;
  };
}
