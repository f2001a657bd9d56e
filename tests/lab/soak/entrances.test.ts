import { expect, setDefaultTimeout } from "bun:test";
import { long } from "../../fast.ts";
import { LINK } from "../../rig/leaks/homes.ts";
import { MESH } from "../../rig/leaks/mesh.ts";
import { NETWORKS } from "../../rig/leaks/networks.ts";
import { playEntrance } from "../../rig/soak/entrances.ts";

const { test } = long("random changes");

const PLAY_MS = 25_000;
const SEED = 20_261_130;
/** The last quiet moment of a busy machine takes long. */
setDefaultTimeout(300_000);

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
);
