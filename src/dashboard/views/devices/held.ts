import { useState } from "preact/hooks";
import type { Device } from "../../../devices/schema.ts";

/** What tells whether someone is at a row. */
export interface Hold {
  onFocusIn: () => void;
  onFocusOut: (event: { currentTarget: HTMLElement }) => void;
}

/** By what a device stands in its list. */
export type Place = Pick<Device, "id" | "online" | "exit" | "group" | "network" | "interface">;

/**
 * A row that moves to another list is drawn anew: its dialog closes, and what was typed is lost. So while someone is at
 * the row of a device that goes on- or offline, or gets another exit, it stays in its list.
 */
export function useHeld(): { placeOf: (device: Device) => Place; holdFor: (device: Device) => Hold } {
  const [held, setHeld] = useState<Place | null>(null);
  return {
    placeOf: (device) => (held?.id === device.id ? held : device),
    holdFor: (device) => ({
      onFocusIn: () => setHeld((before) => (before?.id === device.id ? before : device)),
      onFocusOut: ({ currentTarget: row }) => {
        // The next element has the focus only then.
        setTimeout(() => setHeld((now) => (now?.id === device.id && !isAt(row) ? null : now)));
      },
    }),
  };
}

/** A click beside the fields of a dialog takes the focus from them, and leaves nothing. */
function isAt(row: HTMLElement): boolean {
  return row.contains(document.activeElement) || row.querySelector("dialog") !== null;
}
