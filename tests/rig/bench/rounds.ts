import type { Side } from "./side.ts";

/** The two sides of a comparison. */
export interface Sides<Ours extends Side = Side, Theirs extends Side = Side> {
  portcullis: Ours;
  wgQuick: Theirs;
}

/** Takes turns, and who begins takes turns too, so that what the machine does beside hits both alike. */
export async function inTurns<T>(
  { portcullis, wgQuick }: Sides,
  rounds: number,
  round: (side: Side) => Promise<T>,
): Promise<{ portcullis: T[]; wgQuick: T[] }> {
  const results = { portcullis: [] as T[], wgQuick: [] as T[] };
  for (let number = 0; number < rounds; number += 1) {
    const ours = async () => void results.portcullis.push(await round(portcullis));
    const theirs = async () => void results.wgQuick.push(await round(wgQuick));
    for (const turn of number % 2 === 0 ? [ours, theirs] : [theirs, ours]) await turn();
  }
  return results;
}
