import { afterEach, expect } from "bun:test";
import { TABLE } from "../../src/killswitch/ruleset.ts";
import { long } from "../fast.ts";
import { Home } from "../rig/home/home.ts";
import { assign, lead, macOf, remove } from "../rig/judges/changes.ts";
import { CLEAR } from "../rig/judges/sightings.ts";
import type { Progress } from "../rig/tools/sender.ts";

const { test } = long("each case of what the leaks show in passing");

/** Twenty moves, each until it is over, on a busy machine. */
const TIMEOUT_MS = 600_000;
const EXITS = ["main", "second", "third", "blocked", "direct"] as const;
const ROUNDS = 1;
/** Between the two requests of a race, twice each. With the longest one, the first request wins. */
const GAPS_MS = [0, 3, 8, 2_000] as const;

let home: Home;
afterEach(() => home?.close(), TIMEOUT_MS);

/** Leads from each exit to each other one, once, and from the last one to the first. */
function circuit(): string[] {
  return EXITS.flatMap((one, index) => EXITS.slice(index + 1).flatMap((other) => [one, other]));
}

/** Whether the connections that were open then have ended. */
function wereReset(before: Progress, { opened }: Progress): boolean {
  return [opened.line, opened.download].every((number) => number === null || number > before.number);
}

function distribution(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => `${sorted[Math.floor(part * (sorted.length - 1))]?.toFixed(1)}`;
  return `median ${at(0.5)}, 90 % ${at(0.9)}, 99 % ${at(0.99)}, longest ${at(1)} ms`;
}

/** A move, and the numbers that the other devices had reached before and after it. */
interface Moment {
  move: string;
  begins: readonly number[];
  ends: readonly number[];
}

const numbersOf = (devices: readonly number[]) =>
  Promise.all(devices.map(async (device) => (await home.sender(device).now()).number));

/** When a packet was sent, for people. */
function whenIn(moments: readonly Moment[], index: number, number: number): string {
  const latest = moments.findLast(({ begins }) => number > (begins[index] ?? 0));
  if (latest === undefined) return "before the first move";
  return `${number <= (latest.ends[index] ?? 0) ? "during" : "after"} the move from ${latest.move}`;
}

const inGateway = (...argv: string[]) => home.lab.exec(home.lab.namespaces.gateway, argv);

/** Nothing was lost, and no connection was reset or hung. */
const UNDISTURBED = { lost: [], resets: 0, refused: 0, hung: 0, isLoaded: true };
function fateOf({ lost, resets, refused, hung, bytes }: Progress) {
  return { lost, resets, refused, hung, isLoaded: bytes > 100_000 };
}

test(
  "positive control: packets by another device's exit, and in clear, are seen",
  async () => {
    home = await Home.open(2);
    await home.change(assign(1, "second"));
    await home.change(assign(2, "third"));
    await home.comesToRest();
    expect(home.wrong()).toEqual([]);
    process.kill(home.gateway.pid, "SIGSTOP");
    await inGateway("nft", `delete element ${TABLE} exit_of { ${macOf(1)} }`);
    await inGateway("nft", `add element ${TABLE} exit_of { ${macOf(1)} : goto exit_third }`);
    const moved = await home.sender(1).now();
    await home.sender(1).until(({ answered }) => answered.u > moved.number && answered.v > moved.number);
    await inGateway("nft", "flush", "ruleset");
    for (const family of ["-4", "-6"])
      for (const priority of ["70", "90"]) await inGateway("ip", family, "rule", "del", "priority", priority);
    const open = await home.sender(2).now();
    await home.sender(2).until(({ number }) => number > open.number + 50);
    const { wrong } = await home.finish();
    const kinds = (device: number, place: string) =>
      wrong.filter(
        (line) => line.startsWith(`leak: device ${device}, `) && line.includes(`, at ${place} instead of `),
      );
    expect(kinds(1, "custom-1").length).toBeGreaterThan(1);
    expect(kinds(2, "clear").length).toBeGreaterThan(1);
  },
  TIMEOUT_MS,
);

test(
  "moved between all pairs of exits under load, a device leaves by no other one, and nobody else loses a packet",
  async () => {
    home = await Home.open(3);
    await home.change(assign(2, "second"));
    await home.change(assign(1, "blocked"));
    await home.comesToRest();
    const quiet = await Promise.all([2, 3].map((number) => home.sender(number).now()));
    let former = "blocked";
    const moments: Moment[] = [];
    const [answered, served, reset] = [[] as number[], [] as number[], [] as number[]];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const exit of circuit()) {
        const before = await home.sender(1).now();
        const begins = await numbersOf([2, 3]);
        answered.push(await home.change(assign(1, exit)));
        moments.push({ move: `${former} to ${exit}`, begins, ends: await numbersOf([2, 3]) });
        const start = performance.now();
        await home.isRight(1);
        served.push(performance.now() - start);
        await home
          .sender(1)
          .until((now) => wereReset(before, now))
          .catch(async (error) => {
            const opened = [before, await home.sender(1).now()].map((each) => JSON.stringify(each));
            const move = `${former} to ${exit}, ${opened.join(" then ")}`;
            throw new Error(
              [`${error.message}: a reset by the move from ${move}`, ...home.wrong()].join("; "),
            );
          });
        former = exit;
        reset.push(performance.now() - start);
      }
    }
    const { progress, missed, wrong } = await home.finish();
    console.log(`${answered.length} moves. Request to answer: ${distribution(answered)}`);
    console.log(`Answer to the new exit: ${distribution(served)}; to the reset: ${distribution(reset)}`);
    expect([wrong, missed]).toEqual([[], 0]);
    for (const place of ["box-vpn-1", "box-vpn-2", "custom-1", CLEAR])
      expect(home.seen(1, place)).toBeGreaterThan(3 * ROUNDS);
    expect(progress[0]?.hung).toBe(0);
    for (const [index, other] of progress.slice(1).entries()) {
      const [before] = quiet.slice(index, index + 1);
      // What was lost before had been sent while its own device was moved.
      const lost = other.lost.filter((number) => number > (before?.number ?? 0));
      for (const number of lost)
        console.log(`device ${index + 2} lost ${number}: ${whenIn(moments, index, number)}`);
      expect({ ...fateOf(other), lost }).toEqual({ ...UNDISTURBED, resets: before?.resets ?? 0 });
    }
  },
  TIMEOUT_MS,
);

test(
  "of the removal of a tunnel and a device's move to it, one succeeds and the other is refused",
  async () => {
    home = await Home.open(2);
    const winners = new Set<number>();
    for (const [race, gapMs] of GAPS_MS.flatMap((gap) => [gap, gap]).entries()) {
      if (home.decisions.tunnels.third === undefined) await home.change(lead("third", "custom-1"));
      await home.change(assign(1, "second"));
      const [removal, move] = [remove("third"), assign(1, "third")];
      const pair = race % 2 === 0 ? [removal, move] : [move, removal];
      const answers = await home.attempt(pair, undefined, gapMs);
      const statuses = answers.map((answer) => answer?.status ?? 0);
      const [removed = 0, moved = 0] = race % 2 === 0 ? statuses : statuses.toReversed();
      expect([
        [200, 404],
        [400, 200],
      ]).toContainEqual([removed, moved]);
      await home.takeUp();
      expect(home.wrong()).toEqual([]);
      winners.add(removed);
    }
    expect(winners).toEqual(new Set([200, 400]));
    await home.comesToRest();
    const { wrong, missed } = await home.finish();
    expect([wrong, missed]).toEqual([[], 0]);
  },
  TIMEOUT_MS,
);
