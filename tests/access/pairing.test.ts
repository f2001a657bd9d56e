import { expect, test } from "bun:test";
import { Pairing } from "../../src/access/pairing.ts";

const MINUTE_MS = 60_000;

function pairingAt(clock = { now: 0 }) {
  const guessed: string[] = [];
  const pairing = new Pairing({ monotonic: () => clock.now }, (by) => void guessed.push(by));
  const use = (code: string, work = async () => "paired") => pairing.use(code, "fd00::7", work);
  return { pairing, use, guessed, clock };
}

const WRONG = "code: is wrong, was used, or is older than 10 minutes";

test("a code is good for one browser, however it is typed", async () => {
  const { pairing, use } = pairingAt();
  const code = pairing.start();
  expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}-[0-9a-hjkmnp-tv-z]{4}$/);
  expect(
    await use(` ${code.toUpperCase().replace("-", " ").replaceAll("0", "O").replaceAll("1", "l")} `),
  ).toBe("paired");
  await expect(use(code)).rejects.toThrow(WRONG);
});

test("of two browsers at once exactly one gets in, also while its work goes on", async () => {
  const { pairing, use } = pairingAt();
  const code = pairing.start();
  const held = Promise.withResolvers<string>();
  const [first, second] = [use(code, () => held.promise), use(code)];
  await expect(second).rejects.toThrow(WRONG);
  held.resolve("paired");
  expect(await first).toBe("paired");
});

test("work that fails leaves the code as it was, unless there is a newer one", async () => {
  const { pairing, use, clock } = pairingAt();
  const fail = () => Promise.reject(new Error("no room"));
  const code = pairing.start();
  await expect(use(code, fail)).rejects.toThrow("no room");
  const held = Promise.withResolvers<string>();
  const failing = use(code, () => held.promise);
  const newer = pairing.start();
  held.reject(new Error("no room"));
  await expect(failing).rejects.toThrow("no room");
  await expect(use(code)).rejects.toThrow(WRONG);
  clock.now += 10 * MINUTE_MS - 1;
  expect(await use(newer)).toBe("paired");
});

test("after ten minutes it is refused, and stays so", async () => {
  const { pairing, use, clock, guessed } = pairingAt();
  const code = pairing.start();
  clock.now += 10 * MINUTE_MS;
  await expect(use(code)).rejects.toThrow(WRONG);
  clock.now = 0;
  await expect(use(code)).rejects.toThrow(WRONG);
  expect(guessed).toEqual([]);
});

test("five wrong codes end the right one, once and with the name of who sent them", async () => {
  const { pairing, use, guessed } = pairingAt();
  const code = pairing.start();
  for (let count = 0; count < 4; count += 1) await expect(use("aaaa-aaaa")).rejects.toThrow(WRONG);
  expect(guessed).toEqual([]);
  for (let count = 0; count < 4; count += 1) await expect(use("")).rejects.toThrow(WRONG);
  await expect(use(code)).rejects.toThrow(WRONG);
  expect(guessed).toEqual(["fd00::7"]);
  // Another code has five guesses of its own.
  expect(await use(pairing.start())).toBe("paired");
});

test("without a code nothing is right, and a restart forgets it", async () => {
  const { pairing } = pairingAt();
  const code = pairing.start();
  const { use, guessed } = pairingAt();
  for (const each of [code, "", "0".repeat(64)]) await expect(use(each)).rejects.toThrow(WRONG);
  expect(guessed).toEqual([]);
});
