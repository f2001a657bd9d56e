import { NONE, type Possible } from "./possible.ts";
import type { Request, World } from "./world.ts";

interface Row {
  name: string;
  device: string;
  exit: string;
  at: string;
  until: string;
  once?: object;
}

export const SCHEDULES = ["bedtime", "homework"] as const;
/** It ends by itself. */
export const PAUSE = "pause";

/** What is true of schedules at rest: all know of the same, and devices have what is due. */
export async function scheduleFaults(world: World, possible: Possible): Promise<string[]> {
  const { schedules } = (await world.read("/api/schedules")) as { schedules: (Row & { active: boolean })[] };
  const saved = JSON.parse(world.parts.store.read("schedules") ?? "[]") as Row[];
  const given = givenIn(world);
  const now = new Date(world.machine.now())
    .toISOString()
    .slice("2023-11-14T".length, "2023-11-14T22:13".length);
  return [...SCHEDULES, PAUSE]
    .flatMap((name) => {
      const [shown, kept] = [schedules, saved].map((all) => textOf(all.find((each) => each.name === name)));
      const wished = possible((request) => givenBy(request, name), NONE);
      const asked = name === PAUSE ? new Set([...wished, NONE]) : wished;
      return [
        ...(shown === kept ? [] : [`${name}: the interface says ${shown}, and ${kept} is saved`]),
        ...(asked.has(shown ?? NONE) ? [] : [`${name} is ${shown}, and was given as ${[...asked]}`]),
      ];
    })
    .concat(
      schedules.flatMap(({ name, device, exit, at, until, once, active }) => [
        ...(active && given.get(device) !== exit
          ? [`${name} is active, and ${device} has ${given.get(device)}`]
          : []),
        ...(active && !once && !(at <= now && now < until) ? [`${name} is active at ${now}`] : []),
      ]),
      [...given].flatMap(([device, exit]) =>
        schedules.some((each) => each.active && each.device === device && each.exit === exit)
          ? []
          : [`${device} has ${exit} by no schedule that is active`],
      ),
    );
}

/** The exits that devices have by a schedule, as the database has them. */
export function givenIn({ parts }: World): Map<string, string> {
  const pairs = (parts.store.read("scheduled_exits") ?? "").split(",").filter((pair) => pair !== "");
  return new Map(pairs.map((pair) => pair.split(" ") as [string, string]));
}

function givenBy({ method, path, params, body }: Request, name: string): string | undefined {
  if (path !== "/api/schedules/:name" || params?.name !== name) return undefined;
  return method === "delete" ? NONE : textOf(body as Row);
}

function textOf(row: Omit<Row, "name"> | undefined): string {
  return row === undefined
    ? NONE
    : `${row.device} ${row.exit} ${row.once ? "once" : `from ${row.at} until ${row.until}`}`;
}
