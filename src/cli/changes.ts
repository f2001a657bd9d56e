import type { Changes } from "../backup/changes.ts";
import { printable } from "./text.ts";

/** Enough to see whether it is the right backup. */
const MOST_DEVICES = 20;

/** What a restore changes of tunnels and devices, one line each. */
export function changesText({ tunnels, devices, default_exit }: Changes): string {
  const more = devices.length - MOST_DEVICES;
  const lines = [
    ...tunnels.map(tunnelLine),
    ...devices.slice(0, MOST_DEVICES).map(deviceLine),
    ...(more > 0 ? [`and ${more} more devices`] : []),
    ...(default_exit === null ? [] : [`default exit: ${default_exit.before} → ${default_exit.after}`]),
  ];
  if (lines.length === 0) return "The restore changes no tunnel and no device.\n";
  return `The restore changes these tunnels and devices; others stay as they are:\n${lines
    .map((line) => `  ${printable(line)}\n`)
    .join("")}`;
}

function tunnelLine({ name, isNew, before, after }: Changes["tunnels"][number]): string {
  const to = after ?? "no server";
  return isNew ? `tunnel ${name}: new, to ${to}` : `tunnel ${name}: ${before ?? "no server"} → ${to}`;
}

function deviceLine({ id, before, after }: Changes["devices"][number]): string {
  const name = after.name ?? before?.name ?? null;
  const title = name === null ? id : `${name} (${id})`;
  if (before === null) return `device ${title}: new, exit ${after.exit ?? "default"}`;
  const changes = [
    before.name !== after.name && `name ${before.name ?? "none"} → ${after.name ?? "none"}`,
    before.exit !== after.exit && `exit ${before.exit ?? "default"} → ${after.exit ?? "default"}`,
  ];
  return `device ${title}: ${changes.filter((change) => change !== false).join(", ")}`;
}
