import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

setDefaultTimeout(240_000);

const TV = "02:00:00:00:00:20" as Mac;
const TAKEN =
  "port 51413 of the main tunnel already leads to another device or port; remove that forward first";
const KEPT = "The forward is kept: portcullis forwards shows when it is open.\n";

let home: Home;
beforeAll(async () => {
  home = await Home.withRealClock();
  // What waits before it tries again waits for good.
  home.host.patient = true;
  await home.parts.forwards.reload();
  home.hear(TV, "192.168.7.20");
  await home.parts.devices.assign(TV, { name: "TV" });
});
afterAll(() => home.stop());

const cli = (...args: string[]) => run(home.port, args);

test("without a tunnel, forward says why the port is not open, and keeps it", async () => {
  expect(await cli("forward", "TV:6881", "--udp", "--external", "51413")).toMatchObject({
    code: 1,
    stdout: `TV:6881 (udp) is not open yet: the main tunnel is disconnected; the port opens once it is connected\n${KEPT}`,
  });
});

test("a forward that gets another external port says which port no longer leads to the device", async () => {
  await cli("forward", "TV:7000", "--tcp", "--external", "50000");
  expect((await cli("forward", "TV:7000")).stdout).toStartWith(
    "TCP port 50000 no longer leads to TV:7000 (tcp).\n",
  );
  await cli("forward", "TV:7000", "remove");
});

test("forward says which port leads to the device, for TCP and UDP unless told otherwise", async () => {
  await cli("connect", "se-1");
  const opened = (protocol: string) =>
    `${protocol} port 51413 at the server of the main tunnel leads to TV:6881 `;
  expect(await cli("forward", "TV:6881", "--external", "51413")).toMatchObject({
    code: 0,
    stdout: `${opened("TCP")}(tcp).\n${opened("UDP")}(udp).\n`,
  });
  expect((await cli("forward", "192.168.7.20:80", "--tcp", "--external", "51413")).stdout).toBe(
    `TV:80 (tcp) is not open yet: ${TAKEN}\n${KEPT}`,
  );
  expect((await cli("forwards")).stdout).toBe(`Device  Port      State   External  Tunnel  By
TV      6881/tcp  open    51413     main    you
TV      80/tcp    closed  51413     main    you
TV      6881/udp  open    51413     main    you
TV:80 (tcp): ${TAKEN}
`);
  expect(JSON.parse((await cli("forwards", "--json")).stdout).forwards).toEqual(
    await home.parts.forwards.list(),
  );
});

test("remove closes the port for both protocols, or for one", async () => {
  expect((await cli("forward", `${TV}:6881`, "remove", "--tcp")).stdout).toBe(
    `${TV}:6881 (tcp) is no longer forwarded.\n`,
  );
  await cli("forward", "TV:6881", "--tcp", "--external", "51413");
  expect((await cli("forward", "tv:6881", "remove")).stdout).toBe(
    "tv:6881 (tcp and udp) is no longer forwarded.\n",
  );
  expect(await cli("forward", "TV:6881", "remove")).toMatchObject({
    code: 1,
    stderr: "portcullis: this port is not forwarded; to list those that are: portcullis forwards\n",
  });
});

test.each([
  [["TV"], "give a device and its port, such as TV:6881; to list the devices: portcullis devices"],
  [[TV], "give a device and its port, such as TV:6881; to list the devices: portcullis devices"],
  [["TV:0"], "port: must be a number from 1 to 65535"],
  [["TV:80", "--external", "70000"], "--external: must be a number from 1 to 65535"],
  [["TV:80", "remove", "--external", "7"], "--external is for a new forward only"],
])("forward %p is wrong usage", async (args, error) => {
  const { code, stderr } = await cli("forward", ...args);
  expect([code, stderr]).toEqual([2, `portcullis: ${error}\n`]);
});
