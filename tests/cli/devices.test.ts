import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { Home } from "../http/home.ts";
import { atTerminal, run } from "./program.ts";

setDefaultTimeout(240_000);

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
