import { afterAll, beforeAll, expect } from "bun:test";
import { long } from "../fast.ts";
import { Home } from "../rig/home/home.ts";
import { anyChange } from "../rig/judges/changes.ts";
import { randomFrom } from "../rig/tools/random.ts";

const { test } = long("rounds of SIGKILL");

const TIMEOUT_MS = 600_000;
const SEED = 20_261_122;
const KILLS = 12;
const DEVICES = 3;
/** Changes that show how long they take on this machine. */
const REHEARSALS = 8;
/** Packets of each device while the service is away. */
const ENOUGH = 30;

let home: Home;
beforeAll(async () => {
  home = await Home.open(DEVICES);
}, TIMEOUT_MS);
afterAll(() => home?.close(), TIMEOUT_MS);

/** How long the longest of some changes takes. */
async function rehearse(random: () => number): Promise<number> {
  let longestMs = 0;
  for (let count = 0; count < REHEARSALS; count += 1) {
    const start = performance.now();
    await home.attempt([anyChange(home.decisions, DEVICES, random)]);
    longestMs = Math.max(longestMs, performance.now() - start);
  }
  return longestMs;
}

async function sendsMore(): Promise<void> {
  await Promise.all(
    home.senders.map(async (sender) => {
      const { number: before } = await sender.now();
      await sender.until(({ number }) => number > before + ENOUGH);
    }),
  );
}

test(
  `killed or stopped at ${KILLS} moments of changes, the gateway comes back with all that was answered, and no packet is wrong`,
  async () => {
    const random = randomFrom(SEED);
    const longestMs = await rehearse(random);
    let unanswered = 0;
    for (let count = 1; count <= KILLS; count += 1) {
      const change = anyChange(home.decisions, DEVICES, random);
      // More of the early moments: most changes take less than the longest.
      const delayMs = longestMs * random() ** 2;
      const signal = random() < 0.25 ? "SIGTERM" : "SIGKILL";
      const title = `${count}: ${signal} ${delayMs.toFixed(1)} ms after ${change.method} ${change.path} ${JSON.stringify(change.body)}`;
      const [answer] = await home.attempt([change], async () => {
        await Bun.sleep(delayMs);
        await home.gateway.kill(signal);
      });
      if (answer == null) unanswered += 1;
      await sendsMore();
      await home.gateway.start();
      const fault = await home.takeUp().then(
        () => home.comesToRest().then(() => null),
        (error: Error) => error.message,
      );
      expect({ title, fault, wrong: home.wrong() }).toEqual({ title, fault: null, wrong: [] });
    }
    const { wrong, missed } = await home.finish();
    expect([wrong, missed]).toEqual([[], 0]);
    expect(unanswered).toBeGreaterThan(KILLS / 10);
    expect(unanswered).toBeLessThan((KILLS * 9) / 10);
  },
  TIMEOUT_MS,
);
