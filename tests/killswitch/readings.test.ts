import { expect, test } from "bun:test";
import { Queue } from "../../src/base/queue.ts";
import { Readings } from "../../src/killswitch/readings.ts";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { loadTable } from "../../src/killswitch/table.ts";
import { NO_NETWORK } from "../../src/network/host-network.ts";
import { FakeHost } from "../fake/host.ts";
import { POLICIES } from "./example.ts";

/** Its listings are counted. */
async function loaded() {
  const host = new FakeHost();
  await loadTable(host, rulesetOf(POLICIES.connected));
  host.generation = 7;
  const told = { altered: 0, listings: 0 };
  const run = host.run.bind(host);
  host.run = (argv, ...rest) => {
    if (argv.includes("list")) told.listings += 1;
    return run(argv, ...rest);
  };
  const readings = new Readings({
    ...{ host, queue: new Queue(), network: () => NO_NETWORK, rules: () => [] },
    loaded: { learnSpelling: () => {}, isAsLoaded: (listing) => listing !== null },
    onAltered: () => {
      told.altered += 1;
    },
  });
  return { host, readings, told };
}

test("the first question after a load uses the listing that the load has asked for, unless the table has changed", async () => {
  const { host, readings, told } = await loaded();
  await readings.compare();
  expect([await readings.stands(), told.listings]).toEqual([true, 1]);
  host.removeTable();
  host.generation = 8;
  expect([await readings.stands(), told.listings]).toEqual([false, 2]);
});

test("while changes are neither reported nor numbered, each question reads the table", async () => {
  const { host, readings, told } = await loaded();
  host.generation = null;
  await readings.compare();
  expect([await readings.stands(), told.listings]).toEqual([true, 2]);
  host.removeTable();
  expect([await readings.stands(), told.listings]).toEqual([false, 3]);
});

test("a change that is not reported yet is seen, though another reading has seen it", async () => {
  const { host, readings, told } = await loaded();
  readings.setWatched(true);
  await readings.stands();
  host.removeTable();
  host.generation = 8;
  await readings.compare();
  expect(await readings.stands()).toBe(false);
  expect(told.altered).toBe(1);
});
