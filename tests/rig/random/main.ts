import { play } from "./play.ts";

const MINUTE_MS = 60_000;

function number(name: string, otherwise: number): number {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

const seed = number("--seed", Math.floor(Math.random() * 1_000_000));
const minutes = number("--minutes", 3);
if (!Number.isInteger(seed) || !(minutes > 0)) {
  console.error("usage: scripts/random [--seed N] [--minutes M]");
  process.exit(2);
}
console.log(`seed ${seed}, ${minutes} minutes`);
const { fault, story, rounds, made, asked, disturbances } = await play(seed, minutes * MINUTE_MS, {
  tell: console.log,
});
console.log(`${rounds} rounds, ${made} of ${asked} changes made, ${disturbances} disturbances`);
if (fault !== null) console.log(`${story.at(-1)}\nseed ${seed}, in round ${rounds}: ${fault}`);
process.exit(fault === null ? 0 : 1);
