import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { readFileSync } from "node:fs";
import { long } from "../../fast.ts";
import { comparisonOf, type Result } from "../../rig/bench/compare.ts";
import { Contest } from "../../rig/bench/contest.ts";
import { type Machine, machine } from "../../rig/bench/machine.ts";
import { atMost, measurementOf, ratioAtMost } from "../../rig/bench/measure.ts";
import { measureNames } from "../../rig/bench/names.ts";
import { measurePacketLimits } from "../../rig/bench/packet-limits.ts";
import { measureStart } from "../../rig/bench/start.ts";
import { measureSwitch } from "../../rig/bench/switch.ts";
import { tableOf } from "../../rig/bench/table.ts";
import { executionsIn, traceOf } from "../../rig/bench/trace.ts";

const { test } = long("measurements");

setDefaultTimeout(60_000);

const ROOT = process.getuid?.() === 0;

describe.skipIf(!ROOT)("the comparison with wg-quick", () => {
  let contest: Contest;
  beforeAll(async () => {
    contest = await Contest.open({ traced: true });
  }, 30_000);
  afterAll(() => contest.close(), 30_000);

  test("sees what a switch costs each side, and which programs it runs", async () => {
    const { portcullis, wgQuick } = contest;
    const refused = portcullis.computer.look("refusal");
    expect(await refused).toBeGreaterThan(0);
    const [lost, gap, leaked, order] = await measureSwitch(contest, 0, 1);
    expect(lost?.wgQuick).toBeGreaterThan(0);
    expect(gap?.portcullis).toBeGreaterThan(0);
    expect(leaked).toMatchObject({ portcullis: 0, met: true });
    expect(leaked?.wgQuick).toBeGreaterThan(0);
    expect(order?.ratio).toBeGreaterThan(0);
    for (const { lab } of [portcullis, wgQuick]) {
      const programs = executionsIn(readFileSync(traceOf(lab), "utf8")).map(({ program }) => program);
      expect(programs).toContain("/usr/bin/wireguard-go");
    }
  }, 40_000);

  test("has a figure of each resolver for known and new names, and for the first use of one", async () => {
    const found = await measureNames(contest, { questions: 100, firstUses: 1 });
    const isTime = ({ unit, name }: { unit: string; name: string }) =>
      unit === "ms" && !name.includes("beyond");
    for (const { name, portcullis, wgQuick } of found.filter(isTime))
      expect([name, (portcullis ?? 0) > 0, (wgQuick ?? 0) > 0]).toEqual([name, true, true]);
    for (const { name, portcullis, wgQuick } of found.filter(({ unit }) => unit === "%"))
      expect([name, (portcullis ?? 0) > 0, (wgQuick ?? 0) > 0]).toEqual([name, true, true]);
  }, 600_000);

  test("sees the kill switch come at each start, on a machine that had none", async () => {
    const { portcullis } = contest;
    const started = await measureStart(portcullis, 2, 100);
    expect(started.map(({ name }) => name)).toEqual([
      "start to the kill switch, at the LAN",
      "start to the kill switch, at the LAN, with 100 managed servers",
      "start to the first answer on /health",
      "start to the first answer on /health, with 100 managed servers",
    ]);
    // A runtime takes some milliseconds to load: a refusal before that is that of a kill switch that was left.
    for (const { rounds } of started) for (const ms of rounds.portcullis) expect(ms).toBeGreaterThan(5);
    expect(started.map(({ rounds }) => rounds.portcullis.length)).toEqual([2, 2, 2, 2]);
  });
});

test.skipIf(!ROOT)(
  "a packet of a limited device has a figure, and one of another device, beside one without limits",
  async () => {
    const found = await measurePacketLimits(1);
    expect(found).toHaveLength(4);
    for (const { portcullis, wgQuick } of found) {
      expect(portcullis).toBeGreaterThan(0);
      expect(wgQuick).toBeGreaterThan(0);
    }
  },
);

test("a trace counts the programs that started, and not the search for them", () => {
  const trace = `7 1700000000.5 execve("/usr/bin/sh", ["sh"], 0x7ffd /* 3 vars */) = 0
8 1700000001.0 execve("/usr/local/bin/ip", ["ip"], 0x7ffd /* 3 vars */) = -1 ENOENT (No such file or directory)
8 1700000001.1 execve("/usr/bin/ip", ["ip"], 0x7ffd /* 3 vars */ <unfinished ...>
9 1700000001.2 execve("/usr/bin/wg", ["wg"], 0x7ffd /* 3 vars */) = 0
8 1700000001.3 <... execve resumed>)      = 0
`;
  expect(executionsIn(trace)).toEqual([
    { at: 1700000000500, program: "/usr/bin/sh" },
    { at: 1700000001200, program: "/usr/bin/wg" },
    { at: 1700000001100, program: "/usr/bin/ip" },
  ]);
});

test("a table shows medians, their ratio, and whether the goal is met", () => {
  const samples = { portcullis: [30, 10, 26], wgQuick: [52, 50, 54, 52] };
  expect(
    tableOf([
      measurementOf({ name: "connect", rttMs: 20, unit: "ms", ...samples, aim: ratioAtMost(0.4) }),
      measurementOf({ name: "programs", unit: "", portcullis: [4], aim: atMost(6) }),
    ]),
  ).toBe(
    `            RTT  portcullis  wg-quick  ratio  goal
connect   20 ms       26 ms     52 ms   0.50  ratio ≤ 0.4  NOT MET
programs                  4                   ≤ 6          met
`,
  );
});

const MACHINE: Machine = { program: "1.0 abc", cores: 2, processor: "Chip", kernel: "6.1", load: 0.5 };

function resultOf(measurements: Result["measurements"]): Result {
  return { machine: { before: MACHINE, after: { ...MACHINE, load: 1 } }, effort: {}, measurements };
}

test("two results are compared by medians, and a change within the noise is none", () => {
  const of = (name: string, unit: string, portcullis: number[]) => measurementOf({ name, unit, portcullis });
  const a = resultOf([
    of("start", "ms", [100, 101, 102, 103, 150]),
    of("noisy", "ms", [100, 140, 180]),
    of("stream", "Mbit/s", [500, 501, 502]),
    of("memory", "MiB", [67]),
    of("former", "ms", [1]),
  ]);
  const b = resultOf([
    of("start", "ms", [70, 71, 72, 73, 120]),
    of("noisy", "ms", [130, 170, 210]),
    of("stream", "Mbit/s", [400, 401, 402]),
    of("memory", "MiB", [68]),
    of("new", "ms", [2]),
  ]);
  expect(comparisonOf(a, b)).toBe(`A: 1.0 abc, on 2 × Chip, Linux 6.1, load 0.50 to 1.00
B: 1.0 abc, on 2 × Chip, Linux 6.1, load 0.50 to 1.00

        RTT           A           B   B/A
start            102 ms       72 ms  0.71  better
noisy            140 ms      170 ms  1.21
stream       501 Mbit/s  401 Mbit/s  0.80  worse
memory           67 MiB      68 MiB  1.01
former             1 ms                    only in one
new                            2 ms        only in one
`);
});

test("a result says on which machine it was measured, and of which program", () => {
  expect(machine()).toEqual({
    program: expect.stringMatching(/^\d+\.\d+\.\d+/),
    cores: expect.any(Number),
    processor: expect.any(String),
    kernel: expect.stringMatching(/^\d+\./),
    load: expect.any(Number),
  });
});
