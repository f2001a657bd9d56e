import { useState } from "preact/hooks";
import type { Device } from "../../../devices/schema.ts";

/** What tells whether someone is at a row. */
export interface Hold {
  onFocusIn: () => void;
  onFocusOut: (event: { currentTarget: HTMLElement }) => void;
}

/**
 * A row that moves to another list is drawn anew: its dialog closes, and what was typed is lost. So while someone is at
 * the row of a device that goes on- or offline, it stays in its list.
 */
export function useHeld(): { isOnline: (device: Device) => boolean; holdFor: (device: Device) => Hold } {
  const [held, setHeld] = useState<Pick<Device, "id" | "online"> | null>(null);
  return {
    isOnline: ({ id, online }) => (held?.id === id ? held.online : online),
    holdFor: ({ id, online }) => ({
      onFocusIn: () => setHeld((before) => (before?.id === id ? before : { id, online })),
      onFocusOut: ({ currentTarget: row }) => {
        // The next element has the focus only then.
        setTimeout(() => setHeld((now) => (now?.id === id && !isAt(row) ? null : now)));
      },
    }),
  };
}

/** A click beside the fields of a dialog takes the focus from them, and leaves nothing. */
function isAt(row: HTMLElement): boolean {
  return row.contains(document.activeElement) || row.querySelector("dialog") !== null;
}
