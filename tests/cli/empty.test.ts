import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

setDefaultTimeout(240_000);

let home: Home;
beforeAll(async () => {
  home = await Home.withRealClock();
  await home.parts.forwards.reload();
});
afterAll(() => home.stop());

test.each([
  ["devices", "No device has been seen yet.\nDefault exit, for devices without one of their own: main\n"],
  ["schedules", /^There is no schedule\.\nTime zone: \S+\n$/],
  ["forwards", "No port is forwarded. To forward one: portcullis forward <device>:<port>\n"],
  ["dns", "The resolvers of the tunnels answer the LAN's queries: no list needs another one.\n"],
])("%s of a home in which nothing was done says so", async (command, said) => {
  const { code, stdout } = await run(home.port, [command]);
  expect([code, stdout]).toEqual([0, typeof said === "string" ? said : expect.stringMatching(said)]);
});
