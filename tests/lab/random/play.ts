import { anyChange, comparable } from "../changes.ts";
import { Home } from "../home.ts";
import { randomFrom } from "../leaks/random.ts";
import { anyDisturbances } from "./disturbances.ts";

const DEVICES = 4;
/** Changes and disturbances of one round begin within this time. */
const ROUND_MS = 200;

export interface Game {
  rounds: number;
  /** Changes that the gateway has made, and all that were asked for. */
  made: number;
  asked: number;
  disturbances: number;
  /** What was found wrong, or null. */
  fault: string | null;
  /** All that was done, in order, a line each. */
  story: string[];
}

/**
 * Plays random changes and disturbances for so long, and waits for a quiet moment after each round: then interface,
 * database and kernel agree, each device is served by its exit or refused, and no packet was seen at a wrong place.
 */
export async function play(seed: number, ms: number, tell: (line: string) => void = () => {}): Promise<Game> {
  const home = await Home.open(DEVICES);
  const game: Game = { rounds: 0, made: 0, asked: 0, disturbances: 0, fault: null, story: [] };
  try {
    const random = randomFrom(seed);
    const note = (line: string) => {
      game.story.push(line);
      tell(line);
    };
    const end = performance.now() + ms;
    while (game.fault === null && performance.now() < end) {
      game.fault = await round(home, random, game, note).catch((error: Error) => error.message);
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

async function round(
  home: Home,
  random: () => number,
  game: Game,
  note: (line: string) => void,
): Promise<string | null> {
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)] as T;
  const { decisions } = home;
  const changes = Array.from({ length: pick([0, 1, 1, 2, 2, 3]) }, () =>
    anyChange(decisions, DEVICES, random),
  );
  const disturbances = anyDisturbances(pick, random).map((each) => ({ ...each, at: ROUND_MS * random() }));
  game.rounds += 1;
  note(`round ${game.rounds}, from ${comparable(decisions)}`);
  for (const { method, path, body } of changes) note(`  ${method} ${path} ${JSON.stringify(body) ?? ""}`);
  for (const { at, title } of disturbances) note(`  after ${at.toFixed(0)} ms: ${title}`);
  const answers = await home.attempt(changes, () =>
    Promise.all(disturbances.map(({ at, run }) => Bun.sleep(at).then(() => run(home)))),
  );
  game.asked += changes.length;
  game.made += answers.filter((answer) => answer?.status === 200).length;
  game.disturbances += disturbances.length;
  note(`  answers: ${answers.map((answer) => answer?.status ?? "none").join(", ")}`);
  await home.gateway.isHealthy();
  await home.takeUp();
  await home.comesToRest();
  const wrong = home.wrong();
  return wrong.length === 0 ? null : wrong.join("; ");
}
