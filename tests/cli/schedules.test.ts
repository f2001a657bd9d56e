import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

setDefaultTimeout(60_000);

const TV = "02:00:00:00:00:20";

let home: Home;
beforeAll(async () => {
  home = await Home.withRealClock();
  await home.parts.devices.assign(TV, { name: "TV" });
});
afterAll(() => home.stop());

const cli = (...args: string[]) => run(home.port, args);
const bodies = () =>
  home.parts.schedules.list().schedules.map(({ active: _, next_at: __, error: ___, ...body }) => body);

test("schedules says that there are none, and in which time zone they would be", async () => {
  const { time_zone } = home.parts.schedules.list();
  expect((await cli("schedules")).stdout).toBe(`There is no schedule.\nTime zone: ${time_zone}\n`);
  expect((await cli("schedules", "--names")).stdout).toBe("");
});

test("schedule gives a device an exit, moves tunnels, and is shown and removed", async () => {
  const bedtime = ["--at", "21:00", "--until", "07:00", "--days", "sun-thu"];
  expect(await cli("schedule", "bedtime", "exit", "tv", "blocked", ...bedtime)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^The schedule bedtime is saved\. It is (next due|active now, until) \w{3} \d{4}-\d\d-\d\d \d\d:00\.\n$/,
    ),
  });
  expect((await cli("schedule", "nightly", "move", "--at", "04:00", "--days", "sat")).code).toBe(0);
  expect((await cli("schedule", "often", "move", "main", "--every", "6h")).code).toBe(0);
  const days = ["mon", "tue", "wed", "thu", "sun"] as const;
  expect(bodies()).toEqual([
    { name: "bedtime", device: TV, exit: "blocked", at: "21:00", until: "07:00", days: [...days] },
    { name: "nightly", tunnel: "main", at: "04:00", days: ["sat"] },
    { name: "often", tunnel: "main", every_hours: 6 },
  ]);
  const { stdout } = await cli("schedules");
  const lines = stdout.split("\n").map((line) => line.replace(/ {2,}(in force +)?\w{3} \d{4}-.*/, ""));
  expect(lines).toEqual([
    "Schedule  What                  When                 Now       Next".replace(
      /Now +Next/,
      lines[0]?.match(/Now +Next/)?.[0] ?? "",
    ),
    "bedtime   exit of TV: blocked   21:00-07:00 sun-thu",
    "nightly   move the main tunnel  04:00 sat",
    "often     move the main tunnel  every 6 h",
    `Time zone: ${home.parts.schedules.list().time_zone}`,
    "",
  ]);
  expect((await cli("schedules", "--names")).stdout).toBe("bedtime\nnightly\noften\n");
  expect(JSON.parse((await cli("schedules", "--json")).stdout)).toEqual(home.parts.schedules.list());
  expect((await cli("schedule", "often", "remove")).stdout).toBe("Removed the schedule often.\n");
  expect(bodies()).toHaveLength(2);
});

test("schedule gives a device a limit, or none", async () => {
  const evening = ["--at", "18:00", "--until", "22:00"];
  expect((await cli("schedule", "evening", "rate", "tv", "20/off", ...evening)).code).toBe(0);
  expect(bodies().find(({ name }) => name === "evening")).toEqual({
    ...{ name: "evening", device: TV, rate: { down: 20, up: null } },
    ...{ at: "18:00", until: "22:00" },
  });
  expect((await cli("schedules")).stdout).toContain("limit of TV: 20 Mbit/s down  18:00-22:00 daily");
  expect((await cli("schedule", "evening", "rate", "tv", "off", ...evening)).code).toBe(0);
  expect((await cli("schedules")).stdout).toContain("limit of TV: none");
  expect((await cli("schedule", "evening", "remove")).code).toBe(0);
});

test("schedule gives all others a shared limit, or none", async () => {
  const guests = ["--at", "18:00", "--until", "22:00"];
  expect((await cli("schedule", "guests", "shared-rate", "50/10", ...guests)).code).toBe(0);
  expect(bodies().find(({ name }) => name === "guests")).toEqual({
    ...{ name: "guests", shared_rate: { down: 50, up: 10 } },
    ...{ at: "18:00", until: "22:00" },
  });
  expect((await cli("schedules")).stdout).toContain(
    "shared limit: 50 Mbit/s down, 10 Mbit/s up  18:00-22:00",
  );
  expect((await cli("schedule", "guests", "shared-rate", "off", ...guests)).code).toBe(0);
  expect((await cli("schedules")).stdout).toContain("shared limit: none");
  expect((await cli("schedule", "guests", "remove")).code).toBe(0);
});

test("schedule gives a device or all others a quota, or none", async () => {
  const school = ["--at", "06:00", "--until", "22:00", "--days", "mon-fri"];
  const times = { at: "06:00", until: "22:00", days: ["mon", "tue", "wed", "thu", "fri"] };
  expect((await cli("schedule", "school", "quota", "tv", "1GB/day", ...school)).code).toBe(0);
  expect((await cli("schedule", "guests", "shared-quota", "20GB/month", "1", ...school)).code).toBe(0);
  expect(bodies().slice(-2)).toEqual([
    { name: "nightly", tunnel: "main", at: "04:00", days: ["sat"] },
    { name: "school", device: TV, quota: { megabytes: 1_000, every: "day", at_end: "blocked" }, ...times },
  ] as never);
  const { stdout } = await cli("schedules");
  expect(stdout).toContain("quota of TV: 1000 MB a day, then blocked  ");
  expect(stdout).toContain("shared quota: 20000 MB a month, then 1 Mbit/s each way  ");
  expect((await cli("schedule", "guests", "shared-quota", "off", ...school)).code).toBe(0);
  expect((await cli("schedules")).stdout).toContain("shared quota: none");
  for (const name of ["school", "guests"]) expect((await cli("schedule", name, "remove")).code).toBe(0);
});

test.each([
  [["one", "shared-rate"], "missing argument: which shared-rate?"],
  [["one", "shared-rate", "5", "1"], "too many arguments: only a quota has an end"],
  [["one", "shared-rate", "fast", "--at", "18:00"], "rate: must be Mbit/s each way"],
  [["one", "shared-quota", "1GB"], "quota: must be such as 500MB/day or 20GB/month, or off"],
  [["one", "quota", "tv"], "missing argument: which device, and which quota?"],
  [["one", "exit", "tv", "main", "blocked"], "too many arguments: only a quota has an end"],
  [["one", "exit", "tv"], "missing argument: which device, and which exit?"],
  [["one", "move", "main", "blocked"], "too many arguments: move takes a tunnel"],
  [["one", "remove", "main"], "too many arguments: remove takes only the schedule's name"],
  [["one", "remove", "--at", "04:00"], "too many arguments: remove takes only the schedule's name"],
  [["one", "move", "--every", "6"], "--every: must be hours, such as 6h"],
  [
    ["one", "move", "--at", "04:00", "--days", "mon-funday"],
    "--days: mon-funday is not a day or a range; write them as mon-fri,sun",
  ],
  [["one", "move", "--at", "4"], "at: must be a time of 24 hours, such as 21:00 or 07:30"],
  [["one", "remove"], "name: there is no schedule of this name"],
])("schedule %p is refused: %s", async (args, error) => {
  const { code, stderr } = await cli("schedule", ...args);
  expect(code).not.toBe(0);
  expect(stderr).toContain(`portcullis: ${error}`);
});

test("device pauses a device for a while and ends the pause, by a schedule that comes once", async () => {
  expect(await cli("device", "tv", "pause", "2h")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^TV has no internet until \w{3} \d{4}-\d\d-\d\d \d\d:\d\d\.\n$/i),
  });
  expect(home.parts.schedules.list().schedules.find(({ once }) => once !== undefined)).toMatchObject({
    name: `pause ${TV}`,
    device: TV,
    exit: "blocked",
    active: true,
  });
  expect(await cli("device", "tv", "resume")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^TV has its own exit again\.\n$/i),
  });
  expect((await cli("device", "tv", "pause", "soon")).stderr).toContain("must be such as 30m, 2h");
  expect((await cli("device", "tv", "resume")).code).not.toBe(0);
});
