import type { DeviceList } from "../../../devices/schema.ts";
import { listOf } from "../../format.ts";
import { whoIn } from "../../schedule.ts";

/** "all devices", "TV and Camera". */
export function whomText(ids: readonly string[], devices: DeviceList["devices"]): string {
  return ids.length === 0 ? "all devices" : listOf(ids.map((id) => whoIn(id, devices)));
}
