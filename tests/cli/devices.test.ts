import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { Home } from "../http/home.ts";
import { atTerminal, run } from "./program.ts";

setDefaultTimeout(60_000);

const TV = "02:00:00:00:00:20" as Mac;
const PHONE = "02:00:00:00:00:30" as Mac;
const PRINTER = "02:00:00:00:00:40" as Mac;

let home: Home;
beforeAll(async () => {
  home = await Home.withRealClock();
});
afterAll(() => home.stop());

const cli = (...args: string[]) => run(home.port, args);

test("devices lists who is there", async () => {
  expect((await cli("devices")).stdout).toBe(
    "No device has been seen yet.\nDefault exit, for devices without one of their own: main\n",
  );
  home.hear(TV, "192.168.7.20", "fd00:7::20");
  await home.parts.devices.assign(PRINTER, { name: "lab" });
  expect((await cli("devices")).stdout).toBe(`Device  Exit            State    Id                 Address
-       main (default)  online   02:00:00:00:00:20  192.168.7.20 +1
lab     main (default)  offline  02:00:00:00:00:40
Default exit, for devices without one of their own: main
`);
  expect((await cli("devices", "--names")).stdout).toBe(`${TV}\n${PRINTER}\nlab\n`);
  expect((await cli("devices", "--exits")).stdout).toBe("main\nblocked\n");
  expect(JSON.parse((await cli("devices", "--json")).stdout)).toEqual(await home.parts.devices.list());
});

test("device names a device by its id or its name", async () => {
  expect(await cli("device", TV.toUpperCase(), "name", "TV")).toMatchObject({
    code: 0,
    stdout: `${TV} is now TV.\n`,
  });
  expect((await cli("device", "tv", "name", "living room")).stdout).toBe(`${TV} is now living room.\n`);
  expect((await cli("device", "lab", "name", "workshop")).stdout).toBe(`${PRINTER} is now workshop.\n`);
  expect((await cli("device", "02-00-00-00-00-30", "name", "workshop")).code).toBe(0);
  expect((await home.parts.devices.list()).devices.map(({ id, name }) => [id, name])).toEqual([
    [TV, "living room"],
    [PHONE, "workshop"],
    [PRINTER, "workshop"],
  ]);
});

test("device limits a device, and the list shows it", async () => {
  await home.parts.devices.assign(TV, { name: "living room" });
  expect((await cli("device", TV, "rate", "20/5")).stdout).toBe(
    `living room (${TV}) is limited to 20 Mbit/s down, 5 Mbit/s up.\n`,
  );
  expect((await cli("devices")).stdout).toContain("20 Mbit/s down, 5 Mbit/s up");
  expect((await cli("device", TV, "rate", "1/2/3")).stderr).toContain("rate: must be Mbit/s each way");
  expect((await cli("shared-rate", "50/off")).stdout).toBe(
    "Devices without a limit of their own are limited to 50 Mbit/s down together.\n",
  );
  expect((await cli("devices")).stdout).toContain(
    "Limit of the devices without one of their own, together: 50 Mbit/s down\n",
  );
  await home.parts.devices.setSharedRate(null);
  expect((await cli("device", TV, "rate", "off")).stdout).toBe(`living room (${TV}) has no limit now.\n`);
});

test("device gives a device a quota, and the list shows what was used", async () => {
  expect((await cli("device", TV, "quota", "20GB/month")).stdout).toBe(
    `living room (${TV}) is blocked after 20000 MB a month.\n`,
  );
  home.host.useQuotas(7_000_000);
  expect((await cli("devices")).stdout).toContain("7 of 20000 MB a month, then blocked");
  expect((await cli("device", TV, "quota", "20")).stderr).toContain("quota: must be such as 500MB/day");
  expect((await cli("device", TV, "quota", "500MB/day", "2/0.5")).stdout).toBe(
    `living room (${TV}) is limited to 2 Mbit/s down, 0.5 Mbit/s up after 500 MB a day.\n`,
  );
  expect((await cli("device", TV, "quota", "1MB/day", "slow")).stderr).toContain("its end must be blocked,");
  expect((await cli("device", TV, "quota", "off")).stdout).toBe(`living room (${TV}) has no quota now.\n`);
});

test("shared-quota gives the devices without a quota one together", async () => {
  const others = "Devices without a quota of their own";
  for (const [words, now] of [
    [["20GB/month", "told"], "may use 20000 MB a month together; more is only told"],
    [["20GB/month", "1"], "are limited to 1 Mbit/s each way after 20000 MB a month together"],
  ] as const)
    expect((await cli("shared-quota", ...words)).stdout).toBe(`${others} ${now}.\n`);
  home.host.useQuotas(7_000_000);
  expect((await cli("devices")).stdout).toContain(
    "Quota of the devices without one of their own, together: 7 of 20000 MB a month, then 1 Mbit/s each way\n",
  );
  expect((await cli("shared-quota", "off", "told")).stderr).toContain("off has no end");
  expect((await cli("shared-quota", "off")).stdout).toBe(`${others} have no quota now.\n`);
});

test("device and default-exit choose exits, and say what is refused", async () => {
  expect(await cli("device", "living room", "exit", "blocked")).toMatchObject({
    code: 0,
    stdout: `The exit of living room is now blocked.\n`,
  });
  expect((await cli("device", "living room", "exit", "main")).stdout).toBe(
    `The exit of living room is now main.
The main tunnel is disconnected: until it is connected, the device has no internet.
`,
  );
  expect((await cli("device", "living room", "exit", "main,blocked")).stdout).toBe(
    `living room now uses the first of these that is up: main, then blocked.
The main tunnel is disconnected: until it is connected, the device has no internet.
`,
  );
  expect((await cli("devices")).stdout).toContain("  blocked (of main, blocked)  ");
  expect((await cli("device", "living room", "exit", "blocked, main")).stderr).toContain(
    "exit: blocked must be the last of the list",
  );
  expect((await cli("default-exit", "blocked")).stdout).toBe(
    "Devices without an exit of their own now have the exit blocked.\n",
  );
  expect((await cli("devices")).stdout).toContain("blocked (default)");
  expect(await cli("device", TV, "exit", "oslo")).toMatchObject({
    code: 1,
    stderr: "portcullis: exit: there is no such tunnel; the exits are main, blocked\n",
  });
  expect((await cli("device", TV, "colour", "red")).code).toBe(2);
  expect(await cli("device", TV, "exit")).toMatchObject({
    code: 2,
    stderr: "portcullis: missing argument: which exit?\n",
  });
  await home.parts.devices.setDefaultExit("main");
});

test("a name that several devices have, or none, is refused with what to do", async () => {
  expect(await cli("device", "workshop", "name", "x")).toMatchObject({
    code: 2,
    stderr: `portcullis: several devices have this name; give one of these ids: ${PHONE}, ${PRINTER}\n`,
  });
  expect(await cli("device", "garage", "name", "x")).toMatchObject({
    code: 1,
    stderr: "portcullis: no device has this id or name; to list them: portcullis devices\n",
  });
  expect(await cli("device", "02:00:00:00:00", "name", "x")).toMatchObject({
    code: 1,
    stderr:
      "portcullis: id: must be a MAC address, such as 02:00:00:00:00:20, or a prefix behind another router of the LAN, such as 10.8.0.0/24\n",
  });
});

test("an address is refused while the gateway serves no DHCP, and an action needs what it gives", async () => {
  expect(await cli("device", "living room", "address", "192.168.7.50")).toMatchObject({
    code: 1,
    stderr:
      "portcullis: address: the gateway does not serve DHCP; to turn that on: sudo portcullis install --dhcp\n",
  });
  expect(await cli("device", "living room", "address", "auto")).toMatchObject({
    code: 0,
    stdout: `living room gets any address with its next lease: reconnect it, or wait until it renews.\n`,
  });
  expect((await cli("device", TV, "address")).stderr).toContain("missing argument: which address?");
});

test("forget gives a device the default exit and its own name again", async () => {
  expect(await cli("device", "living room", "forget")).toMatchObject({
    code: 0,
    stdout: `living room now has the default exit, and no name, address, limit, quota, icon or group of its own.\n`,
  });
  expect((await home.parts.devices.list()).devices[0]).toMatchObject({ id: TV, name: "", assigned: false });
  expect((await cli("device", TV, "forget", "now")).code).toBe(2);
});

test("a device that calls itself by another's id is not taken for it", async () => {
  const absent = "02:00:00:00:00:99";
  home.host.files.set("/var/lib/misc/dnsmasq.leases", `1 ${TV} 192.168.7.20 ${absent} *\n`);
  expect((await cli("device", absent, "exit", "blocked")).stdout).toBe(
    `The exit of ${absent} is now blocked.\n`,
  );
  expect((await home.parts.devices.list()).devices.find(({ id }) => id === TV)?.exit).toBe("main");
  await home.parts.devices.forget(absent);
  home.host.files.delete("/var/lib/misc/dnsmasq.leases");
});

test("at a terminal no row is longer than the screen, and nothing is cut in a pipe", async () => {
  const name = "日本語のテレビ with a long name";
  await home.parts.devices.assign(TV, { name, exit: "blocked" });
  home.hear(TV, "192.168.7.20", "fd00:7::20");
  const terminal = atTerminal(home.port, ["devices"], { NO_COLOR: "1" });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen().split("\r\n")[1]).toBe(
    "日本語のテ…  blocked      online   02:00:00:0…  192.168.7.2…",
  );
  expect((await cli("devices")).stdout).toContain(name);
  await home.parts.devices.forget(TV);
});

test("a name cannot move the cursor", async () => {
  await home.parts.devices.assign(PHONE, { name: "\u202Eevil" });
  const { stdout } = await cli("devices");
  expect(stdout).toContain("\uFFFDevil");
  expect(stdout).not.toContain("\u202E");
});

test("a MAC address in any form is that device, whatever name another one has told", async () => {
  const claimed = "02:00:00:00:00:99";
  await home.parts.devices.assign(PHONE, { name: "02-00-00-00-00-99" });
  expect((await cli("device", "02-00-00-00-00-99", "exit", "blocked")).code).toBe(0);
  expect((await cli("device", "02:00:00:00:00:99", "name", "camera")).code).toBe(0);
  const { devices } = await home.parts.devices.list();
  expect(devices.find(({ id }) => id === claimed)).toMatchObject({ name: "camera", exit: "blocked" });
  expect(devices.find(({ id }) => id === PHONE)).toMatchObject({ exit: "main", assigned: false });
  await home.parts.devices.forget(claimed);
});
