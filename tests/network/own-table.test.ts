import { beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Mac } from "../../src/base/mac.ts";
import { Limits } from "../../src/devices/limits.ts";
import { Quotas } from "../../src/devices/quotas.ts";
import { Traffic } from "../../src/devices/traffic.ts";
import { ConntrackGuard } from "../../src/network/bounds.ts";
import { BOUNDS_TABLE, boundsFor } from "../../src/network/bounds-table.ts";
import { COUNTERS_TABLE, countersFor, type Links } from "../../src/network/counters.ts";
import { FairQueues } from "../../src/network/fair-queues.ts";
import {
  addressesFor,
  LIMITS_TABLE,
  type Limited,
  limitingOf,
  limitsFor,
} from "../../src/network/limits-table.ts";
import { nftTable, OWN_TABLES, OwnTable } from "../../src/network/own-table.ts";
import { FakeHost } from "../fake/host.ts";
import type { Meddling } from "../fake/nftables.ts";
import { needsNamespaces, slow } from "../fast.ts";
import { inNamespace } from "../killswitch/namespace.ts";

const TV = "02:00:00:00:00:20" as Mac;
const LINKS: Links = { lans: ["lan0"], remote: null, meshes: [], uplink: "up0", networks: [] };
const MEDDLINGS: readonly Meddling[] = ["dormant", "flushed", "altered", "missing"];

/** All that the gateway keeps in the kernel beside the kill switch, on a fake machine. */
class Kept {
  readonly host = new FakeHost();
  readonly warnings: string[] = [];
  private readonly texts = new Map<string, string>();
  private readonly base = {
    host: this.host,
    store: {
      read: (key: string) => this.texts.get(key) ?? null,
      write: (key: string, text: string) => void this.texts.set(key, text),
      atomically: (work: () => void) => work(),
    },
    log: { info: () => {}, warn: (line: string) => void this.warnings.push(line) },
  };
  private readonly traffic = new Traffic<string>({
    ...this.base,
    owners: () => () => null,
    ids: () => [TV],
    macs: () => [TV],
    links: () => LINKS,
  });
  private readonly bounds = new ConntrackGuard({ ...this.base, ports: [5000], alarm: () => {} });
  private readonly limits = new Limits({
    ...this.base,
    quotas: new Quotas({ ...this.base, zone: () => "UTC", onUsedUp: () => {}, onRenewed: () => {} }),
    addressesOf: () => [],
  });
  readonly queues = new FairQueues({ ...this.base, isTunnel: () => false });

  async begin(signal: AbortSignal): Promise<void> {
    this.host.patient = true;
    await this.traffic.read();
    void this.bounds.watch(signal);
    await this.limits.insideIs(["lan0"]);
    const rates = { own: new Map([[TV, { down: 20, up: 5 }]]), scheduled: new Map() };
    await this.limits.apply(rates, { own: new Map(), scheduled: new Map() });
    void this.queues.keep(signal);
    this.queues.lanIs(["lan0"]);
    await this.queues.set({ down: 100, up: 10 });
    await this.host.pass(0);
  }

  /** As the service does when a table has changed. */
  async check(): Promise<void> {
    for (const own of [this.traffic, this.limits, this.bounds, this.queues]) await own.check();
  }

  /** What the kernel has. */
  async listing(): Promise<unknown[]> {
    const tables = OWN_TABLES.map((table) => nftTable(this.host, table, String, optionsOf(table)).list());
    return Promise.all([...tables, this.host.run(["tc", "-j", "qdisc", "show"])]);
  }

  get loads(): number {
    return this.host.commands.filter((command) => /^(nft -f|tc -batch) -$/.test(command)).length;
  }
}

function optionsOf(table: string): string[] {
  return table === LIMITS_TABLE ? ["-s"] : ["-s", "-t", "-n"];
}

let kept: Kept;
beforeEach(async () => {
  kept = new Kept();
  await kept.begin(new AbortController().signal);
});

describe.each(OWN_TABLES)("%s", (table) => {
  test.each(MEDDLINGS)(
    "that another program makes %s is made again as it was, and that is told once",
    async (how) => {
      const before = await kept.listing();
      for (let time = 0; time < 2; time += 1) {
        kept.host.meddle(table, how);
        expect(await kept.listing()).not.toEqual(before);
        await kept.check();
        expect(await kept.listing()).toEqual(before);
      }
      expect(kept.warnings).toEqual([
        `another program has altered the table ${table}, which is loaded again each time`,
      ]);
    },
  );

  test("that the kernel refuses to make again is told once, and made again when it no longer does", async () => {
    const before = await kept.listing();
    kept.host.meddle(table, "dormant");
    kept.host.fails = () => (kept.host.commands.at(-1) === "nft -f -" ? "before" : null);
    await kept.check();
    await kept.check();
    expect(kept.warnings).toEqual([
      expect.stringContaining(`has altered the table ${table}`),
      expect.stringContaining("nft -f -: made to fail"),
    ]);
    kept.host.fails = () => null;
    await kept.host.pass(12_000);
    await kept.check();
    expect(await kept.listing()).toEqual(before);
  });
});

test.each([
  ["removed", null],
  ["given another rate", { bandwidth: 1 }],
  ["told to sort packets by what devices ask for", { diffserv: "diffserv3" }],
  ["told to know no devices", { flowmode: "flowblind" }],
] as const)("a queue that another program has %s is set again, and that is told once", async (_, options) => {
  const before = await kept.listing();
  for (let time = 0; time < 2; time += 1) {
    kept.host.tc.alter("lan0", options);
    expect(await kept.queues.missing()).toEqual({ of: ["lan0"], missing: ["lan0"] });
    await kept.check();
    expect(await kept.listing()).toEqual(before);
  }
  expect(kept.warnings).toEqual([
    "another program has altered the queue of the line, which is loaded again each time",
  ]);
});

slow.test(
  "whatever other programs do and in whichever order, a check makes all as it was, and another one loads nothing",
  async () => {
    const before = await kept.listing();
    const deed = fc.record({ table: fc.constantFrom(...OWN_TABLES), how: fc.constantFrom(...MEDDLINGS) });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(deed), { maxLength: 8 }), async (deeds) => {
        for (const each of deeds) {
          if (each === null) await kept.check();
          else kept.host.meddle(each.table, each.how);
        }
        await kept.check();
        expect(await kept.listing()).toEqual(before);
        const { loads } = kept;
        await kept.check();
        expect([kept.loads, await kept.listing()]).toEqual([loads, before]);
      }),
      { numRuns: 50 },
    );
  },
);

test("of a program that alters it all the time, also between a load and its listing, the log tells twice at most", async () => {
  const warnings: string[] = [];
  let isAltered = false;
  const table = new OwnTable<string>(
    { warn: (line) => void warnings.push(line) },
    {
      ...{
        name: "the table",
        fault: "not loaded",
        replace: async () => {},
        isWhole: (listing) => listing === "whole",
      },
      list: async () => (isAltered ? "altered" : "whole"),
    },
  );
  await table.load("rules");
  for (let time = 0; time < 6; time += 1) {
    isAltered = !isAltered;
    await table.check("rules");
    expect(table.current).toBe(isAltered ? null : "rules");
  }
  expect(warnings).toEqual([
    "another program has altered the table, which is loaded again each time",
    "not loaded: the kernel does not list the table as it was given",
  ]);
});

const LIMITED: Limited = {
  ...{ number: 7, mac: TV, addresses: [], isShared: false },
  ...{ rate: { down: 1_000, up: null }, quota: null },
};
const REAL: [table: string, text: string][] = [
  [COUNTERS_TABLE, countersFor(LINKS, [TV])],
  [BOUNDS_TABLE, boundsFor({ most: 1_000, places: 65_536, ports: [5_000], remote: "wgr" })],
  [LIMITS_TABLE, limitsFor(limitingOf([LIMITED], ["lan0"])) + addressesFor([LIMITED])],
];
const HOOKED = "{ type filter hook forward priority 0; policy drop; }";

needsNamespaces.test(
  "whatever another program does to an own table of a real kernel, it is made again as it was",
  () =>
    inNamespace(async (host) => {
      expect(REAL.map(([name]) => name).sort()).toEqual([...OWN_TABLES].sort());
      for (const [name, text] of REAL) {
        const warnings: string[] = [];
        const list = () => host.run(["nft", "-s", "list", "table", ...name.split(" ")]).catch(() => null);
        const log = { warn: (line: string) => void warnings.push(line) };
        const table = new OwnTable(log, {
          ...nftTable(host, name, String, optionsOf(name)),
          fault: "not loaded",
        });
        expect(await table.isThere(text)).toBe(false);
        await table.load(text);
        expect(await table.isThere(text)).toBe(true);
        const before = await list();
        for (const change of [
          `delete table ${name}`,
          `add table ${name} { flags dormant; }`,
          `flush table ${name}`,
          `add chain ${name} other ${HOOKED}`,
        ]) {
          await host.run(["nft", "-f", "-"], { stdin: `${change}\n` });
          expect([change, (await list()) === before]).toEqual([change, false]);
          await table.check(text);
          expect([change, await list()]).toEqual([change, before]);
        }
        expect(warnings).toEqual([expect.stringContaining(`has altered the table ${name}`)]);
        // While the service did not run.
        await host.run(["nft", "-f", "-"], { stdin: `add chain ${name} other ${HOOKED}\n` });
        const next = new OwnTable(log, {
          ...nftTable(host, name, String, optionsOf(name)),
          fault: "not loaded",
        });
        await next.load(text);
        expect(await list()).toBe(before);
      }
    }),
);
