import { expect } from "bun:test";
import { long } from "../../fast.ts";
import { LINK } from "../../rig/leaks/homes.ts";
import { MESH } from "../../rig/leaks/mesh.ts";
import { NETWORKS } from "../../rig/leaks/networks.ts";
import { crash, TAMPERING } from "../../rig/random/disturbances.ts";
import { playEntrance } from "../../rig/random/entrances.ts";
import { play } from "../../rig/random/play.ts";

const { test } = long("random changes");

/** `scripts/random` plays for longer, with another seed each time. */
const PLAY_MS = 25_000;
const SEED = 20_261_130;
/** The last quiet moment of a busy machine takes long. */
const TIMEOUT_MS = 300_000;

test.each([
  ["tampering, outages and crashes", 7, [...TAMPERING, crash]],
  ["a crash in each round", 20_261_122, [crash]],
] as const)(
  "random changes with %s leave interface, database and kernel in agreement, all that was answered holds, and nothing leaks",
  async (_, seed, kinds) => {
    const { fault, story, rounds } = await play(seed, PLAY_MS, { kinds });
    if (fault !== null) console.error([`seed ${seed}`, ...story].join("\n"));
    expect(fault).toBeNull();
    expect(rounds).toBeGreaterThan(2);
  },
  TIMEOUT_MS,
);

test.each([
  ["networks", (seed: number) => playEntrance(NETWORKS, seed, PLAY_MS)],
  ["a mesh", (seed: number) => playEntrance(MESH, seed, PLAY_MS)],
  ["a link", (seed: number) => playEntrance(LINK, seed, PLAY_MS)],
] as const)(
  "what comes by %s leaves by its exit only, whatever happens in which order",
  async (_, played) => {
    const { fault, story } = await played(SEED);
    if (fault !== null) console.error([`seed ${SEED}`, ...story].join("\n"));
    expect(fault).toBeNull();
  },
  TIMEOUT_MS,
);
