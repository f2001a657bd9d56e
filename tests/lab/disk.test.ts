import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { createLab, type Gateway, type Lab } from "../../lab/lab.ts";
import { until } from "../../lab/until.ts";

const TEST_MS = 180_000;
/** How long the disk takes for each flush. */
const FLUSH_MS = 2_000;
const ROUNDS = 4;
const DEVICE = "02:00:00:00:00:99";

let lab: Lab;
let gateway: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 1 });
  const library = join(lab.sandbox.directory, "slow-disk.so");
  const source = join(import.meta.dir, "../../lab/slow-disk.c");
  expect(await lab.outside(["gcc", "-shared", "-fPIC", "-o", library, source])).toMatchObject({ code: 0 });
  // The programs that the service starts do not inherit its environment.
  gateway = await lab.startGateway({ environment: { LD_PRELOAD: library, SLOW_DISK_MS: `${FLUSH_MS}` } });
}, TEST_MS);
afterAll(() => lab.close(), TEST_MS);

const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
const hasTable = async () => (await inside("nft", "list", "table", "inet", "portcullis")).code === 0;

/** How long the firewall's table was missing. */
async function repaired(): Promise<number> {
  const start = performance.now();
  expect((await inside("nft", "delete", "table", "inet", "portcullis")).code).toBe(0);
  await until(hasTable);
  return performance.now() - start;
}

test(
  "a disk that takes seconds for each flush does not delay the kill switch's repair, whoever waits for an answer",
  async () => {
    // Positive control: what is decided is answered once it is on the disk.
    const start = performance.now();
    const rename = (name: string) => gateway.api("PUT", `/api/devices/${DEVICE}`, { name });
    expect((await rename("TV")).status).toBe(200);
    expect(performance.now() - start).toBeGreaterThan(FLUSH_MS);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // Its own alerts are written half a second after the repair before.
      const answer = rename(`TV ${round}`);
      await Bun.sleep(500);
      times.push(await repaired());
      expect((await answer).status).toBe(200);
    }
    expect(Math.max(...times)).toBeLessThan(FLUSH_MS);
  },
  TEST_MS,
);

test(
  "nor does another program that has locked the database",
  async () => {
    const database = new Database(join(lab.sandbox.directory, "state", "portcullis.db"));
    database.run("PRAGMA busy_timeout = 10000");
    database.run("BEGIN EXCLUSIVE");
    const { status, body } = await gateway.api("PUT", `/api/devices/${DEVICE}`, { name: "radio" });
    expect([status, body.error]).toEqual([500, expect.stringContaining("another program has locked it")]);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await repaired());
    // A write that waits for the lock does so for two seconds.
    expect(Math.max(...times)).toBeLessThan(2_000);
    database.run("ROLLBACK");
    database.close();
    await until(async () => {
      const { body: page } = await gateway.api("GET", "/api/events?limit=10");
      return page.events.some(({ code }: { code?: string }) => code === "firewall_restored");
    });
  },
  TEST_MS,
);
