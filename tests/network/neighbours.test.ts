import { expect, test } from "bun:test";
import { mustParseAddress } from "../../src/base/address.ts";
import type { Mac } from "../../src/base/mac.ts";
import { type Neighbour, neighbourIn, readNeighbours } from "../../src/network/neighbours.ts";

const MAC = "2a:0d:35:2c:ca:34" as Mac;
const HEARD: Neighbour = {
  interface: "lan0",
  address: mustParseAddress("192.168.7.20"),
  mac: MAC,
  heardMsAgo: 0,
  isLost: false,
};

/** Output of iproute2 6.1. */
const LINES: [line: string, neighbour: Neighbour | null][] = [
  [`[NEIGH]192.168.7.20 dev lan0 lladdr ${MAC} STALE `, { ...HEARD, isLate: true }],
  [`[NEIGH]192.168.7.20 dev lan0 lladdr ${MAC} REACHABLE `, HEARD],
  [`[NEIGH]192.168.7.20 dev lan0 lladdr ${MAC} PROBE `, { ...HEARD, heardMsAgo: null }],
  [`[NEIGH]192.168.7.20 dev lan0 lladdr ${MAC} PERMANENT `, { ...HEARD, heardMsAgo: null }],
  ["[NEIGH]192.168.7.20 dev lan0 FAILED ", { ...HEARD, mac: null, heardMsAgo: null, isLost: true }],
  [
    `[NEIGH]Deleted 192.168.7.20 dev lan0 lladdr ${MAC} REACHABLE `,
    { ...HEARD, heardMsAgo: null, isLost: true },
  ],
  [
    `[NEIGH]fe80::1 dev lan0 lladdr ${MAC} router STALE `,
    { ...HEARD, isLate: true, address: mustParseAddress("fe80::1") },
  ],
  [`[NEIGH]192.168.7.20 dev lan0 lladdr ${MAC} extern_learn REACHABLE proto zebra `, HEARD],
  // Multicast, a proxy's entry, a bridge's table of ports, and an interface of another kind.
  ["[NEIGH]Deleted ff02::2 dev lan0 lladdr 33:33:00:00:00:02 NOARP ", null],
  ["[NEIGH]ff02::2 dev lan0 lladdr 33:33:00:00:00:02 STALE ", null],
  ["[NEIGH]192.168.7.5 dev lan0 proxy ", null],
  [`[NEIGH]dev lan0 lladdr ${MAC} REACHABLE `, null],
  [
    "[NEIGH]192.168.7.20 dev gre0 lladdr 192.0.2.1 STALE ",
    { ...HEARD, isLate: true, interface: "gre0", mac: null },
  ],
  ["[NEIGH]192.168.7.20 dev lan0 lladdr ff:ff:ff:ff:ff:ff STALE ", { ...HEARD, isLate: true, mac: null }],
  ["[NEIGH]miss 192.168.7.20 dev lan0 STALE ", null],
  ['[NEIGH]192.168.7.20 dev a"b lladdr 2a:0d:35:2c:ca:34 STALE ', null],
  ["[ROUTE]192.168.7.0/24 dev lan0 proto kernel ", null],
  ["", null],
];

test.each(LINES)("the neighbour in: %s", (line, neighbour) => {
  expect(neighbourIn(line)).toEqual(neighbour);
});

async function aged(row: object): Promise<(number | null)[]> {
  const answer = [{ dst: "192.168.7.20", dev: "lan0", lladdr: MAC, ...row }];
  const host = { run: async () => JSON.stringify(answer) };
  return (await readNeighbours(host)).map(({ heardMsAgo }) => heardMsAgo);
}

test("the table says when a neighbour was heard", async () => {
  expect(await aged({ confirmed: 12, updated: 20, state: ["REACHABLE"] })).toEqual([12_000]);
  // Taught by the neighbour's own request, and not confirmed since.
  expect(await aged({ confirmed: 61, updated: 1, state: ["STALE"] })).toEqual([1_000]);
  // What changed last is that the kernel has begun to doubt it.
  expect(await aged({ confirmed: 70, updated: 1, state: ["PROBE"] })).toEqual([70_000]);
  expect(await aged({ confirmed: 0, updated: 0, state: ["PERMANENT"] })).toEqual([null]);
  expect(await aged({ lladdr: undefined, confirmed: 3, updated: 1, state: ["FAILED"] })).toEqual([null]);
  expect(await aged({ state: [] })).toEqual([]);
});

test("a table without rows is empty, whether or not ip prints brackets", async () => {
  expect(await readNeighbours({ run: async () => "" })).toEqual([]);
  expect(await readNeighbours({ run: async () => "[]\n" })).toEqual([]);
});
