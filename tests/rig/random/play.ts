import { Home } from "../home/home.ts";
import { anyChange, comparable } from "../judges/changes.ts";
import { randomFrom } from "../tools/random.ts";
import { anyDisturbances, crash, type Disturbance, type Kind, TAMPERING } from "./disturbances.ts";

const DEVICES = 4;
/** Changes and disturbances of one round begin within this time. */
const ROUND_MS = 200;

/** Whatever the machine's speed, a play goes on until it has so many, because with less it has shown nothing. */
const LEAST_ROUNDS = 3;
const EVERYTHING: readonly Kind[] = [...TAMPERING, crash];

export interface Game {
  rounds: number;
  /** Changes that the gateway has made, and all that were asked for. */
  made: number;
  asked: number;
  disturbances: number;
  /** How many changes were asked for and how many disturbances there were, by what they were. */
  kinds: Record<string, number>;
  /** What was found wrong, or null. */
  fault: string | null;
  /** All that was done, in order, a line each. */
  story: string[];
}

/** Plays random changes and disturbances for so long, each round until its quiet moment. */
export async function play(
  seed: number,
  ms: number,
  { kinds = EVERYTHING, tell = () => {} }: { kinds?: readonly Kind[]; tell?: (line: string) => void } = {},
): Promise<Game> {
  const home = await Home.open(DEVICES);
  const game: Game = { rounds: 0, made: 0, asked: 0, disturbances: 0, kinds: {}, fault: null, story: [] };
  try {
    const random = randomFrom(seed);
    const note = (line: string) => {
      game.story.push(line);
      tell(line);
    };
    const end = performance.now() + ms;
    while (game.fault === null && (performance.now() < end || game.rounds < LEAST_ROUNDS)) {
      game.fault = await round(home, random, game, kinds, note).catch((error: Error) => error.message);
    }
    const { wrong, missed } = await home.finish();
    if (missed > 0) wrong.push(`the sniffer missed ${missed} frames`);
    game.fault ??= wrong.length > 0 ? wrong.join("; ") : null;
    if (game.fault !== null) game.story.push(home.gateway.log());
  } finally {
    await home.close();
  }
  return game;
}

/** What a round adds to. */
export type Tally = Pick<Game, "rounds" | "made" | "asked" | "disturbances" | "kinds">;

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
