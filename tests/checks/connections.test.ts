import { expect, test } from "bun:test";
import { parseMac } from "../../src/base/mac.ts";
import { connectionsFinding } from "../../src/checks/machine.ts";
import type { Refused } from "../../src/network/bounds-table.ts";

const NOBODY: Refused = { connections: [], solicitations: [] };
const MACS = [1, 2, 3, 4, 5].flatMap((at) => parseMac(`02:00:00:00:00:0${at}`) ?? []);

const finding = (taken: number, refused: Refused | null, runs = true) =>
  connectionsFinding({ places: async () => ({ taken, all: 1_000 }), refused: async () => refused }, runs);

test("room, and a kernel without a connection table, are in order", async () => {
  expect(await finding(599, NOBODY)).toMatchObject({
    result: "ok",
    found: "599 of 1000 entries of the connection table are in use",
  });
  const none = { places: async () => null, refused: async () => NOBODY };
  expect(await connectionsFinding(none, true)).toMatchObject({ result: "ok", found: "none yet" });
});

test("a table of which three fifths are taken is a warning", async () => {
  expect(await finding(600, NOBODY)).toMatchObject({
    result: "warning",
    found:
      "600 of 1000 entries of the connection table are in use: when three quarters are, devices cannot connect to anything new",
  });
});

test("devices that were refused something are named, three at most", async () => {
  expect((await finding(1, { ...NOBODY, connections: MACS })).found).toBe(
    "1 of 1000 entries of the connection table are in use; further connections were refused to 02:00:00:00:00:01, 02:00:00:00:00:02, 02:00:00:00:00:03 and 2 more in the last ten minutes",
  );
  expect((await finding(1, { ...NOBODY, solicitations: MACS.slice(0, 1) })).found).toBe(
    "1 of 1000 entries of the connection table are in use; more questions for IPv6 neighbours than any device needs came from 02:00:00:00:00:01 in the last ten minutes",
  );
});

test("bounds that are missing are a warning while a service runs", async () => {
  expect((await finding(1, null)).result).toBe("warning");
  expect((await finding(1, null, false)).result).toBe("ok");
});
