import { expect, test } from "bun:test";
import { Queue } from "../../src/base/queue.ts";
import { Readings } from "../../src/killswitch/readings.ts";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { loadTable } from "../../src/killswitch/table.ts";
import { NO_NETWORK } from "../../src/network/host-network.ts";
import { FakeHost } from "../fake/host.ts";
import { POLICIES } from "./example.ts";

test("a change that is not reported yet is seen, though another reading has seen it", async () => {
  const host = new FakeHost();
  await loadTable(host, rulesetOf(POLICIES.connected));
  host.generation = 7;
  let altered = 0;
  const readings = new Readings({
    ...{ host, queue: new Queue(), network: () => NO_NETWORK, rules: () => [] },
    loaded: { learnSpelling: () => {}, isAsLoaded: (listing) => listing !== null },
    onAltered: () => altered++,
  });
  readings.setWatched(true);
  await readings.stands();
  host.removeTable();
  host.generation = 8;
  await readings.compare();
  expect(await readings.stands()).toBe(false);
  expect(altered).toBe(1);
});

test("until changes are reported, a listing answers only as long as the kernel counts none", async () => {
  const host = new FakeHost();
  await loadTable(host, rulesetOf(POLICIES.connected));
  const readings = new Readings({
    ...{ host, queue: new Queue(), network: () => NO_NETWORK, rules: () => [] },
    loaded: { learnSpelling: () => {}, isAsLoaded: (listing) => listing !== null },
    onAltered: () => {},
  });
  const listings = () => host.commands.filter((command) => command.includes(" list table ")).length;
  host.generation = 7;
  await readings.compare();
  expect([await readings.stands(), listings()]).toEqual([true, 1]);
  host.removeTable();
  host.generation = 8;
  readings.reported = 8;
  expect([await readings.stands(), listings()]).toEqual([false, 2]);
  // A kernel that does not count.
  host.generation = null;
  expect([await readings.stands(), listings()]).toEqual([false, 3]);
});
