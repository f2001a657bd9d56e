import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";

setDefaultTimeout(120_000);

const DELAY_MS = 10;
const PINGS = 500;

describe.skipIf(process.getuid?.() !== 0)("a delay of 10 ms each way", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await createLab({ cards: 2 });
  });
  afterAll(() => lab.close());

  test("makes each round trip 20 ms longer and keeps the order of the frames", async () => {
    await lab.delay(0);
    expect(median((await pings(lab)).map(({ ms }) => ms))).toBeLessThan(DELAY_MS);
    await lab.delay(DELAY_MS);
    const answers = await pings(lab);
    expect(Math.min(...answers.map(({ ms }) => ms))).toBeGreaterThanOrEqual(2 * DELAY_MS);
    // How much later a frame is depends on how busy the machine is.
    expect(median(answers.map(({ ms }) => ms))).toBeLessThan(4 * DELAY_MS);
    const order = answers.map(({ sequence }) => sequence);
    expect(order.filter((sequence, index) => sequence < (order[index - 1] ?? 0))).toEqual([]);
  });

  test("loses nothing of 1,000 datagrams a second", async () => {
    await lab.delay(DELAY_MS);
    const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"], intervalMs: 1 });
    await traffic.sends(1_000);
    const { udp } = await traffic.stop();
    expect(udp?.lost).toEqual([]);
    expect(udp?.answered).toBeGreaterThan(100);
  });

  test("ends when it is taken out", async () => {
    await lab.delay(DELAY_MS);
    await lab.delay(0);
    expect(median((await pings(lab)).map(({ ms }) => ms))).toBeLessThan(DELAY_MS);
  });
});

/** In the order of the answers. */
async function pings(lab: Lab): Promise<{ sequence: number; ms: number }[]> {
  // Without `-l`, how many may be under way, `ping` waits for each answer.
  const argv = ["ping", "-n", "-c", `${PINGS}`, "-i", "0.002", "-l", "30", INTERNET.host4];
  const { stdout } = await lab.exec(lab.namespaces.client, argv);
  const answers = [...stdout.matchAll(/icmp_seq=(\d+) .*time=([\d.]+) ms/g)];
  return answers.map(([, sequence, ms]) => ({ sequence: Number(sequence), ms: Number(ms) }));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
