import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Contest } from "./contest.ts";
import { atMost, measurementOf, ratioAtMost } from "./measure.ts";
import { measureSwitch } from "./switch.ts";
import { tableOf } from "./table.ts";
import { executionsIn, traceOf } from "./trace.ts";

describe.skipIf(process.getuid?.() !== 0)("the comparison with wg-quick", () => {
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
});

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
