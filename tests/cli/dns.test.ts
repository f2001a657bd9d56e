import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { DeviceId } from "../../src/devices/id.ts";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

setDefaultTimeout(180_000);

const TV = "02:00:00:00:00:20" as DeviceId;
const LIST = "https://lists.example/ads.txt";

let home: Home;
beforeAll(async () => {
  home = await Home.withRealClock();
  await home.parts.devices.assign(TV, { name: "TV" });
});
afterAll(() => home.stop());

const cli = (...args: string[]) => run(home.port, ["dns", ...args]);

test("dns says who answers, and changes lists and the names that stay open", async () => {
  const off = "The resolvers of the tunnels answer the LAN's queries: no list needs another one.\n";
  expect((await cli()).stdout).toBe(off);
  expect((await cli("add", LIST, "tv")).stdout).toStartWith(`Added ${LIST}.`);
  expect((await cli("open", "Good.example")).code).toBe(0);
  expect(home.parts.blockLists.list()).toMatchObject({
    lists: [{ url: LIST, devices: [TV] }],
    exceptions: ["good.example"],
  });
  const { stdout } = await cli();
  expect(stdout).toContain("Names  Not understood  Fetched");
  expect(stdout).toContain(`${LIST}  0      0 `);
  expect(stdout).toContain("Always open: good.example\n");
  expect((await cli("off", LIST)).stdout).toBe(`${LIST} blocks nothing until it is turned on again.\n`);
  expect((await cli()).stdout).toMatch(/ads\.txt .* off\n/);
  expect((await cli("on", LIST)).stdout).toBe(`${LIST} blocks.\n`);
  expect(home.parts.blockLists.list().lists).toMatchObject([{ on: true, devices: [TV] }]);
  expect((await cli("pause")).stdout).toBe("No list blocks for 5 minutes.\n");
  expect((await cli()).stdout).toContain("No list blocks until ");
  expect((await cli("pause", "0")).stdout).toBe("The lists block again.\n");
  expect((await cli("close", "good.example")).code).toBe(0);
  // A name is the same one however it is written.
  expect((await cli("open", "*.Bücher_1.example.")).code).toBe(0);
  expect(home.parts.blockLists.list().exceptions).toEqual(["xn--bcher_1-n2a.example"]);
  expect((await cli("close", "bücher_1.example")).code).toBe(0);
  expect((await cli("remove", LIST)).stdout).toBe(`Removed ${LIST}.\n`);
  expect(home.parts.blockLists.list()).toEqual({
    lists: [],
    exceptions: [],
    private_names: [],
    block_doh: false,
  });
});

test("dns private lets a name have addresses of the home, and dns public ends that", async () => {
  expect((await cli("private", "*.plex.direct")).code).toBe(0);
  expect((await cli("doh", "block")).code).toBe(0);
  expect((await cli("doh", "open")).code).toBe(0);
  expect((await cli()).stdout).toContain("May have addresses of the home: plex.direct\n");
  expect((await cli("public", "Plex.direct.")).code).toBe(0);
  expect((await cli()).stdout).not.toContain("plex.direct");
});

test("dns doh blocks the names of resolvers that answer over HTTPS, or opens them", async () => {
  const blocked = "The names of well-known resolvers that answer by HTTPS are blocked.\n";
  expect((await cli("doh", "block")).stdout).toBe(blocked);
  expect((await cli()).stdout).toContain(blocked);
  // Another change leaves it as it is.
  expect((await cli("open", "good.example")).code).toBe(0);
  expect((await cli("close", "good.example")).code).toBe(0);
  expect(home.parts.blockLists.list().block_doh).toBe(true);
  expect((await cli("doh", "open")).stdout).toStartWith(
    "The names of resolvers that answer by HTTPS are open",
  );
  expect((await cli()).stdout).not.toContain(blocked);
});

test("dns shows which devices ask most, and how much of that is blocked", async () => {
  const { dns } = home.parts;
  dns.state = "on";
  dns.byDevice.asked(TV);
  dns.byDevice.asked(TV);
  dns.byDevice.blocked(TV);
  dns.byDevice.asked("02:00:00:00:00:30" as DeviceId);
  expect((await cli()).stdout).toContain(
    "Device             Asked  Blocked\nTV                 2      1\n02:00:00:00:00:30  1      0\n",
  );
  dns.state = "off";
  expect((await cli()).stdout).not.toContain("Asked");
});

test("what cannot be is refused in one line, and nothing changes", async () => {
  for (const [args, message] of [
    [["add"], "missing argument: add what?"],
    [["add", "http://lists.example/"], "lists[0].url: must be an https address"],
    [["remove", LIST], `there is no list ${LIST}`],
    [["off", LIST], `there is no list ${LIST}`],
    [["close", "example.com"], "example.com is not among the open names"],
    [["public", "example.com"], "example.com is not among the private names"],
    [["open", "example.com", "tv"], "too many arguments: only add takes devices"],
    [["doh", "on"], "doh: must be block or open"],
    [["pause", "long"], "pause: must be minutes, such as 5"],
  ] as const) {
    const { code, stderr } = await cli(...args);
    expect(stderr).toContain(message);
    expect(code).not.toBe(0);
  }
  expect(home.parts.blockLists.list()).toEqual({
    lists: [],
    exceptions: [],
    private_names: [],
    block_doh: false,
  });
});
