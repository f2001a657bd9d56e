import type { Forward } from "../forwards/schema.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** `portcullis forwards` shows them all. */
const MOST_NAMED = 3;

/** Whether the ports that should be open are; null if there are none. */
export function forwardsFinding(forwards: readonly Forward[]): Finding | null {
  if (forwards.length === 0) return null;
  const closed = forwards.filter(({ state }) => state === "closed");
  if (closed.length === 0) {
    const opening = forwards.filter(({ state }) => state === "opening").length;
    const open = forwards.length - opening;
    return ok(`${open} open${opening === 0 ? "" : `, ${opening} being opened`}`);
  }
  const named = closed.slice(0, MOST_NAMED).map(({ port, protocol, name, device, error }) => {
    return `port ${port} (${protocol.toUpperCase()}) of ${name || device}: ${error}`;
  });
  const more = closed.length > MOST_NAMED ? `. Others: ${closed.length - MOST_NAMED}` : "";
  return warning(
    `${closed.length} of ${forwards.length} closed: ${named.join(". ")}${more}`,
    "Repair what is named; the port then opens by itself, or within ten minutes if the provider had refused it. To see all: portcullis forwards",
  );
}
