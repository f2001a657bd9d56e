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

/** By name, and those without one last. */
export function inOrder(devices: readonly Device[]): Device[] {
  const titled = devices.map((device) => ({ device, title: titleOf(device) }));
  titled.sort(
    (one, two) =>
      Number(one.device.name === "") - Number(two.device.name === "") || ORDER.compare(one.title, two.title),
  );
  return titled.map(({ device }) => device);
}
