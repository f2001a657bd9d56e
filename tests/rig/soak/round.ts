import type { Home } from "../home/home.ts";
import { anyChange, comparable } from "../judges/changes.ts";
import { anyDisturbances, type Disturbance, type Kind } from "./disturbances.ts";

/** Changes and disturbances of one round begin within this time. */
const ROUND_MS = 200;

/** What a round adds to. */
export interface Tally {
  rounds: number;
  /** Changes that the gateway has made, and all that were asked for. */
  made: number;
  asked: number;
  disturbances: number;
  /** How many changes were asked for and how many disturbances there were, by what they were. */
  kinds: Record<string, number>;
}

/**
 * Random changes and disturbances of these kinds, and the quiet moment after them: then interface, database and kernel
 * agree, each device is served by its exit or refused, and no packet was seen at a wrong place. Returns what is wrong.
 */
export async function round(
  home: Home,
  random: () => number,
  tally: Tally,
  kinds: readonly Kind[],
  note: (line: string) => void,
): Promise<string | null> {
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)] as T;
  const { decisions, devices } = home;
  const changes = Array.from({ length: pick([0, 1, 1, 2, 2, 3]) }, () =>
    anyChange(decisions, devices.length, random),
  );
  const disturbances = anyDisturbances(kinds, pick, random).map((each) => ({
    ...each,
    // More of the early moments, because most changes take less time.
    at: ROUND_MS * random() ** 2,
  }));
  tally.rounds += 1;
  note(`round ${tally.rounds}, from ${comparable(decisions)}`);
  for (const { method, path, body } of changes) note(`  ${method} ${path} ${JSON.stringify(body) ?? ""}`);
  for (const { at, title } of disturbances) note(`  after ${at.toFixed(0)} ms: ${title}`);
  if (disturbances.some(({ what }) => what === "firewall")) home.quotasMayOpen();
  const answers = await home.attempt(changes, () => happen(home, disturbances));
  tally.asked += changes.length;
  tally.made += answers.filter((answer) => answer?.status === 200).length;
  tally.disturbances += disturbances.length;
  for (const { what } of [...changes, ...disturbances]) tally.kinds[what] = (tally.kinds[what] ?? 0) + 1;
  note(`  answers: ${answers.map((answer) => answer?.status ?? "none").join(", ")}`);
  await home.gateway.isHealthy();
  await home.takeUp();
  await home.comesToRest();
  home.settle();
  const wrong = home.wrong();
  return wrong.length === 0 ? null : wrong.join("; ");
}

function happen(home: Home, disturbances: readonly (Disturbance & { at: number })[]): Promise<unknown> {
  return Promise.all(disturbances.map(({ at, run }) => Bun.sleep(at).then(() => run(home))));
}
