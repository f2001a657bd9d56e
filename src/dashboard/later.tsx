import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Pending } from "./parts/pending.tsx";
import type * as Views from "./views/others.ts";

const views = signal<typeof Views | null>(null);

/** Reads the script of the views that are opened later; once it is there, they open at once. */
export async function loadViews(): Promise<void> {
  views.value ??= await import("./views/others.ts");
}

/** A view of that script, or a part of one that is shown on a click. */
export function later<Props extends object = object>(
  of: (views: typeof Views) => ComponentType<Props>,
): ComponentType<Props> {
  return function Later(props) {
    const [fault, setFault] = useState<unknown>(null);
    useEffect(() => void loadViews().catch(setFault), []);
    // After an upgrade the gateway has another script: `Guard` says so.
    if (fault !== null) throw fault;
    if (views.value === null) return <Pending of={{ state: "loading" }} />;
    const View = of(views.value);
    return <View {...props} />;
  };
}
