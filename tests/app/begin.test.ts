import { expect, test } from "bun:test";
import { begin } from "../../src/app/service.ts";
import { FakeHost } from "../fake/host.ts";
import { until } from "../rig/tools/until.ts";

test("a start waits a moment for what clients have asked of the kernel, before its parts begin", async () => {
  for (const isAnswered of [true, false]) {
    const host = new FakeHost();
    host.patient = true;
    const asked = Promise.withResolvers<void>();
    const begun: string[] = [];
    const parts = {
      ...{ host, killSwitch: { settled: () => asked.promise }, failing: new Map(), log: { error: () => {} } },
    };
    const part = { name: "events", run: () => void begun.push("events") };
    void begin([part], parts, new AbortController().signal);
    await host.pass(50);
    expect(begun).toEqual([]);
    if (isAnswered) asked.resolve();
    else await host.pass(100);
    await until(() => begun.length > 0);
  }
});
