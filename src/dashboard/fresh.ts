import { useEffect } from "preact/hooks";
import { refresh } from "./answers.ts";
import type { Resource } from "./store.ts";
import { useMinute } from "./traffic.ts";

/** Reads an answer again each minute: no event says what devices have asked or sent, or that a peer has shaken hands again. */
export function useFresh(name: Resource, isWanted: boolean): void {
  const minute = useMinute();
  useEffect(() => {
    if (isWanted) void refresh(name);
  }, [name, isWanted, minute]);
}
