import { afterEach, expect, setDefaultTimeout } from "bun:test";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { long } from "../../fast.ts";
import { crash, type Kind, TAMPERING } from "../../rig/soak/disturbances.ts";
import { leftBehind } from "../../rig/soak/processes.ts";
import { Soak } from "../../rig/soak/soak.ts";
import { Clock } from "../../rig/tools/clock.ts";
import { createLab, type Lab } from "../../rig/tools/lab.ts";
import { until } from "../../rig/tools/until.ts";

const { test } = long("hours that pass in minutes");

/** A busy machine takes minutes for what a play has to show, and a fault is reported after two more. */
setDefaultTimeout(600_000);

const PLAY_MS = 15_000;
const DAY_S = 24 * 3_600;
const DAY_MS = 1_000 * DAY_S;

let open: { close(): Promise<void> } | null = null;
afterEach(() => open?.close());

async function lab(): Promise<Lab> {
  const made = await createLab({ cards: 2 });
  open = made;
  return made;
}

test.each<[string, number, readonly Kind[] | null]>([
  ["everything", 5, null],
  ["tampering, outages and crashes on one day", 7, [...TAMPERING, crash]],
  ["a crash in each round", 20_261_122, [crash]],
])(
  "a short soak with %s finds no fault, and both judges see leaks without a kill switch",
  async (_, seed, only) => {
    const soak = await Soak.open(seed, PLAY_MS, only);
    open = soak;
    const fault = await soak.play();
    if (fault !== null) console.error([`seed ${seed}`, fault, ...soak.story, soak.log()].join("\n"));
    expect(fault).toBeNull();
    const { begin, end, leaked, judged, requests, rounds } = soak.report;
    expect(leaked).toBe(0);
    expect(
      Math.min(begin?.frames ?? 0, begin?.packets ?? 0, end?.frames ?? 0, end?.packets ?? 0),
    ).toBeGreaterThan(0);
    expect(Math.min(judged.packets, judged.frames, requests.sent)).toBeGreaterThan(50);
    expect(rounds).toBeGreaterThan(2);
  },
);

test("the wall clock of the service and of wireguard-go jumps, and the machine's does not", async () => {
  const home = await lab();
  const clock = await Clock.build(home);
  const gateway = await home.startGateway(clock.options);
  const machine = Date.now();
  clock.advance(30 * DAY_S);
  const { body } = await gateway.api("GET", "/api/checks");
  expect(Date.parse(body.checked_at)).toBeGreaterThan(machine + 29 * DAY_MS);
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  const { body: status } = await gateway.api("GET", "/api/status");
  expect(Date.parse(status.latest_handshake)).toBeGreaterThan(machine + 29 * DAY_MS);
  expect(Date.now()).toBeLessThan(machine + DAY_MS);
});

test("a process that the service has not started counts as left behind, and a tunnel's does not", async () => {
  const home = await lab();
  const gateway = await home.startGateway();
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  await until(async () => (await leftBehind(home, gateway)).length === 0);
  const stray = Bun.spawn(commandIn(home.namespaces.gateway, ["sleep", "1000"]), {
    stdio: ["ignore", "ignore", "ignore"],
  });
  await until(async () => (await leftBehind(home, gateway)).some((line) => line.endsWith(" sleep 1000")));
  stray.kill("SIGKILL");
  await stray.exited;
  // A program of the service that has just ended is a zombie for a moment.
  await until(async () => (await leftBehind(home, gateway)).length === 0);
});
