import type { Device } from "../../../devices/schema.ts";
import { isNew, titleOf } from "../../exit.ts";

/** Which devices are shown. */
export type Kind = "all" | "new" | "blocked" | "direct";

export function isOfKind(device: Device, kind: Kind): boolean {
  switch (kind) {
    case "all":
      return true;
    case "new":
      return isNew(device);
    case "blocked":
    case "direct":
      return device.exit === kind;
  }
}

/** Whether each word of a search is in something that is known of the device. */
export function matches({ name, id, addresses, exit, group = "" }: Device, text: string): boolean {
  const known = [name, id, exit, group, ...addresses].join(" ").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => known.includes(word));
}

const ORDER = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** By what devices stand one below the other. */
export type Order = "name" | "traffic" | "seen";

/** Those without a name are last by name. What was carried so far counts, not the rate: rows are not to jump. */
export function inOrder(devices: readonly Device[], by: Order = "name"): Device[] {
  const titled = devices.map((device) => ({ device, title: titleOf(device) }));
  titled.sort(
    (one, two) =>
      figureOf(two.device, by) - figureOf(one.device, by) ||
      Number(one.device.name === "") - Number(two.device.name === "") ||
      ORDER.compare(one.title, two.title),
  );
  return titled.map(({ device }) => device);
}

function figureOf({ rx_bytes, tx_bytes, seen_at, online }: Device, by: Order): number {
  switch (by) {
    case "name":
      return 0;
    case "traffic":
      return rx_bytes + tx_bytes;
    case "seen":
      // Who is online is heard all the time.
      return online ? Number.MAX_SAFE_INTEGER : seen_at === null ? 0 : Date.parse(seen_at);
  }
}
