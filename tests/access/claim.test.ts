import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLAIM_FILE, Claim } from "../../src/access/claim.ts";

const MINUTE_MS = 60_000;
const OVER = "a browser can claim this gateway once, in the first 10 minutes of a flashed image";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-claim-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = () => join(folder, CLAIM_FILE);
const saved = () => readFileSync(file(), "utf8");
const flash = (text = "open\n") => writeFileSync(file(), text);

/** A gateway whose machine is so old, and its clock, which `watch` waits on. */
function started(age = 0) {
  const clock = { now: 500 };
  const asleep: { until: number; wake: () => void }[] = [];
  const sleep = (ms: number) =>
    new Promise<void>((wake) => void asleep.push({ until: clock.now + ms, wake }));
  const claim = new Claim({ age: () => age, monotonic: () => clock.now, sleep }, folder);
  const pass = async (ms: number) => {
    clock.now += ms;
    for (const { until, wake } of asleep) if (until <= clock.now) wake();
    await Bun.sleep(0);
  };
  return { claim, pass, use: (work = async () => "owner") => claim.use(work) };
}

test("a gateway that was not flashed is nobody's to claim", async () => {
  const { claim, use } = started();
  expect(claim.state).toBe("none");
  await expect(use()).rejects.toThrow(OVER);
  await claim.watch(new AbortController().signal);
  expect(existsSync(file())).toBe(false);
});

test("one browser claims a flashed gateway, and after it none, also after a restart", async () => {
  flash();
  const { claim, use } = started();
  expect(claim.state).toBe("open");
  expect(await use()).toBe("owner");
  expect([claim.state, saved()]).toEqual(["over", "over\n"]);
  await expect(use()).rejects.toThrow(OVER);
  await expect(started().use()).rejects.toThrow(OVER);
});

test("of two browsers at once exactly one claims it, and a power cut meanwhile makes nobody an owner", async () => {
  flash();
  const { claim, use } = started();
  const held = Promise.withResolvers<string>();
  const [first, second] = [use(() => held.promise), use()];
  await expect(second).rejects.toThrow(OVER);
  expect([claim.state, saved()]).toEqual(["over", "over\n"]);
  held.resolve("owner");
  expect(await first).toBe("owner");
});

test("a claim that fails may be tried again", async () => {
  flash();
  const { claim, use } = started();
  await expect(use(() => Promise.reject(new Error("no room")))).rejects.toThrow("no room");
  expect([claim.state, saved()]).toEqual(["open", "open\n"]);
  expect(await use()).toBe("owner");
});

test("ten minutes after power-on it is over, also for the next boot, and a claim that fails then does not open it", async () => {
  flash();
  const { claim, pass, use } = started(MINUTE_MS);
  const ended = claim.watch(new AbortController().signal);
  await pass(9 * MINUTE_MS - 1);
  expect([claim.state, saved()]).toEqual(["open", "open\n"]);
  const held = Promise.withResolvers<string>();
  const late = use(() => held.promise);
  await pass(1);
  await ended;
  held.reject(new Error("no room"));
  await expect(late).rejects.toThrow("no room");
  expect([claim.state, saved()]).toEqual(["over", "over\n"]);
  await expect(use()).rejects.toThrow(OVER);
  expect(started().claim.state).toBe("over");
});

test("a restart of the service gives no more time, a power cut within the time does", () => {
  flash();
  expect(started(10 * MINUTE_MS).claim.state).toBe("over");
  expect(started(5_000).claim.state).toBe("open");
});

test("a disk that does not take its end ends it all the same, and is asked again; it takes no claim", async () => {
  flash();
  const { claim, pass, use } = started();
  const ended = claim.watch(new AbortController().signal);
  // Root may write anywhere: a folder in the place of the new file is in its way.
  mkdirSync(`${file()}.new`);
  await expect(use()).rejects.toThrow();
  expect([claim.state, saved()]).toEqual(["open", "open\n"]);
  await pass(10 * MINUTE_MS);
  expect([claim.state, saved()]).toEqual(["over", "open\n"]);
  rmSync(`${file()}.new`, { recursive: true, force: true });
  await pass(MINUTE_MS);
  await ended;
  expect(saved()).toBe("over\n");
});

test.each(["", "opened\n", "\0\0\0\0"])("a damaged file opens nothing: %j", async (text) => {
  flash(text);
  await expect(started().use()).rejects.toThrow(OVER);
});

test("neither does one that cannot be read, and the service starts", () => {
  mkdirSync(file());
  expect(started().claim.state).toBe("over");
});
