import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

setDefaultTimeout(180_000);

const ROUNDS = 2;
const DEVICE = "02:00:00:00:00:99";

let lab: Lab;
let gateway: Gateway;
/** While it exists, no flush of the service ends. */
let holder: string;
beforeAll(async () => {
  lab = await createLab({ cards: 1 });
  holder = join(lab.sandbox.directory, "held");
  const library = join(lab.sandbox.directory, "held-disk.so");
  const source = join(import.meta.dir, "../rig/tools/held-disk.c");
  expect(await lab.outside(["gcc", "-shared", "-fPIC", "-o", library, source])).toMatchObject({ code: 0 });
  // The programs that the service starts do not inherit its environment.
  gateway = await lab.startGateway({ environment: { LD_PRELOAD: library, HELD_DISK: holder } });
});
afterAll(() => lab.close());

const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
const hasTable = async () => (await inside("nft", "list", "table", "inet", "portcullis")).code === 0;
const rename = (name: string) => gateway.api("PUT", `/api/devices/${DEVICE}`, { name });

async function isRepaired(): Promise<void> {
  expect((await inside("nft", "delete", "table", "inet", "portcullis")).code).toBe(0);
  await until(hasTable);
}

async function lastEvent(): Promise<number> {
  return (await gateway.api("GET", "/api/events?limit=1")).body.events[0]?.id ?? 0;
}

test("while no flush to the disk ends, the kill switch is repaired, and requests are answered that decide nothing", async () => {
  writeFileSync(holder, "");
  let isAnswered = false;
  const answer = rename("TV").finally(() => {
    isAnswered = true;
  });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const before = await lastEvent();
      await isRepaired();
      // The repair's own alert is written too.
      await until(async () => (await lastEvent()) > before);
    }
    // Positive control: what is decided is answered once it is on the disk.
    expect(isAnswered).toBe(false);
  } finally {
    rmSync(holder);
  }
  expect((await answer).status).toBe(200);
});

test("the kill switch is repaired while another program has locked the database", async () => {
  const database = new Database(join(lab.sandbox.directory, "state", "portcullis.db"));
  database.run("PRAGMA busy_timeout = 10000");
  database.run("BEGIN EXCLUSIVE");
  const { status, body } = await rename("radio");
  expect([status, body.error]).toEqual([500, expect.stringContaining("another program has locked it")]);
  for (let round = 0; round < ROUNDS; round++) await isRepaired();
  database.run("ROLLBACK");
  database.close();
  await until(async () => {
    const { body: page } = await gateway.api("GET", "/api/events?limit=10");
    return page.events.some(({ code }: { code?: string }) => code === "firewall_restored");
  });
});
