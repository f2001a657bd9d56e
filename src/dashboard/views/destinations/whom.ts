import type { DeviceList } from "../../../devices/schema.ts";
import { listOf } from "../../format.ts";
import { whoIn } from "../../schedule.ts";

/** For whom something is: `who` is "TV and Camera". */
export interface Audience {
  whose: "all" | "some";
  who: string;
}

export function whomOf(ids: readonly string[], devices: DeviceList["devices"]): Audience {
  return { whose: ids.length === 0 ? "all" : "some", who: listOf(ids.map((id) => whoIn(id, devices))) };
}
