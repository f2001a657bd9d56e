import type { Device } from "../devices/schema.ts";
import type { ScheduleBody } from "../schedules/schema.ts";
import { MORNING, pauseName } from "../shared/pauses.ts";
import { change, pathOf } from "./api.ts";
import { timeOfDay } from "./format.ts";
import { say } from "./language.ts";
import { clockIn } from "./zone.ts";

type Once = NonNullable<ScheduleBody["once"]>;

const MINUTES = [30, 60];

/** For how long a device may have no internet, by the gateway's clock. */
export function pausesAt(now: number, zone: string): { text: string; once: Once }[] {
  const time = timeOfDay(MORNING);
  const morning =
    clockIn(zone, now) < MORNING ? say("today at {time}", { time }) : say("tomorrow at {time}", { time });
  return [
    ...MINUTES.map((minutes) => ({
      once: { minutes },
      text: say("Pause for {count, plural, one {# minute} other {# minutes}}", { count: minutes }),
    })),
    { once: { until: MORNING }, text: say("Pause until {moment}", { moment: morning }) },
  ];
}

export async function pause({ id }: Pick<Device, "id">, once: Once): Promise<void> {
  await change("PUT", pathOf("schedules", pauseName(id)), { device: id, exit: "blocked", once });
}

export async function resume({ id }: Pick<Device, "id">): Promise<void> {
  await change("DELETE", pathOf("schedules", pauseName(id)));
}
