import { expect } from "bun:test";
import { long } from "../../fast.ts";
import { play } from "../../rig/random/play.ts";

const { test } = long("random changes");

/** `scripts/random` plays for longer, with another seed each time. */
const SEED = 7;
const PLAY_MS = 25_000;
/** The last quiet moment of a busy machine takes long. */
const TIMEOUT_MS = 300_000;

test(
  "random changes, tampering, outages and crashes leave interface, database and kernel in agreement, and nothing leaks",
  async () => {
    const { fault, story, rounds } = await play(SEED, PLAY_MS);
    if (fault !== null) console.error([`seed ${SEED}`, ...story].join("\n"));
    expect(fault).toBeNull();
    expect(rounds).toBeGreaterThan(2);
  },
  TIMEOUT_MS,
);
