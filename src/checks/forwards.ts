import type { Forward } from "../forwards/schema.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** `portcullis forwards` shows them all. */
const MAX_CAUSES = 2;
const MAX_NAMED = 3;

/** Whether all ports that should be open are open; null if there are none. */
export function forwardsFinding(forwards: readonly Forward[]): Finding | null {
  if (forwards.length === 0) return null;
  const closed = forwards.filter(({ state }) => state === "closed");
  if (closed.length === 0) {
    const opening = forwards.filter(({ state }) => state === "opening").length;
    return ok("forwards", { open: forwards.length - opening, opening });
  }
  const byCause = Map.groupBy(closed, ({ error }) => error);
  const causes = [...byCause].slice(0, MAX_CAUSES).map(([error, ports]) => `${someOf(ports)}: ${error}`);
  const more = byCause.size > MAX_CAUSES ? ". Others have other reasons" : "";
  const counts = { closed: closed.length, all: forwards.length };
  return warning("forwards_closed", { ...counts, reason: `${causes.join(". ")}${more}` });
}

function someOf(ports: readonly Forward[]): string {
  const named = ports.slice(0, MAX_NAMED).map(({ port, protocol, name, device }) => {
    return `port ${port} (${protocol.toUpperCase()}) of ${name || device}`;
  });
  const more = ports.length > MAX_NAMED ? ` and ${ports.length - MAX_NAMED} more` : "";
  return `${named.join(", ")}${more}`;
}
