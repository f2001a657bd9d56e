import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { DeviceId } from "../../src/devices/id.ts";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

setDefaultTimeout(180_000);

const TV = "02:00:00:00:00:20" as DeviceId;

let home: Home;
beforeAll(async () => {
  home = await Home.withRealClock();
  await home.parts.devices.assign(TV, { name: "TV" });
});
afterAll(() => home.stop());

const cli = () => run(home.port, ["dns"]);

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
