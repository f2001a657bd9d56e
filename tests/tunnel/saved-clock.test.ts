import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { Store } from "../../src/store/store.ts";
import { restoreClock } from "../../src/tunnel/saved-clock.ts";
import { SavedState } from "../../src/tunnel/saved-state.ts";
import { inDirectory } from "./directory.ts";

const SAVED = Date.parse("2026-11-22T10:00:00Z");
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What is run at a boot whose clock says `now`. */
async function boot(directory: string, now: number): Promise<{ ran: string[][]; said: string }> {
  const ran: string[][] = [];
  const run = async (argv: readonly string[]) => {
    ran.push([...argv]);
    return "";
  };
  return { ran, said: await restoreClock({ run, now: () => now }, directory) };
}

function save(directory: string, at: number): void {
  new SavedState(Store.open(directory, at), () => {}).saveClock(at, 0);
}

test("a clock that is behind is moved to three minutes after the saved time, and never back", () =>
  inDirectory(async (directory) => {
    save(directory, SAVED);
    for (const behind of [1_000, HOUR_MS, 400 * DAY_MS]) {
      const { ran, said } = await boot(directory, SAVED - behind);
      expect(ran).toEqual([["date", "-u", "-s", `@${(SAVED + 180_000) / 1000}`]]);
      expect(said).toEndWith(" forward to 2026-11-22T10:03:00.000Z, after the time that was saved last.");
    }
    for (const ahead of [0, 1_000, HOUR_MS]) expect((await boot(directory, SAVED + ahead)).ran).toEqual([]);
  }));

test("without a saved time the clock stays as it is, and no database is made", () =>
  inDirectory(async (directory) => {
    const { ran, said } = await boot(`${directory}/none`, 0);
    expect({ ran, said }).toEqual({ ran: [], said: "No time was saved yet; the clock stays as it is." });
    expect(await Bun.file(`${directory}/none/portcullis.db`).exists()).toBe(false);
  }));

test("a database that a power cut has damaged is told of by the service, although the clock's unit opens it first", () =>
  inDirectory(async (directory) => {
    writeFileSync(`${directory}/portcullis.db`, "not a database ".repeat(1000));
    await boot(directory, SAVED);
    expect(Store.open(directory, SAVED).alert).toStartWith("The database was damaged; it is kept as ");
  }));

test("a saved time that is decades ahead is not believed", () =>
  inDirectory(async (directory) => {
    save(directory, SAVED + 30 * 365 * DAY_MS);
    const { ran, said } = await boot(directory, SAVED);
    expect(ran).toEqual([]);
    expect(said).toContain("is too far ahead to be true");
  }));
