import { expect, test } from "bun:test";
import { networksFinding } from "../../src/checks/networks.ts";
import type { LanNetwork } from "../../src/devices/network-schema.ts";

const network = (link: string, more: Partial<LanNetwork> = {}): LanNetwork => ({
  ...{ interface: link, name: "", exit: "main", assigned: false, page: true, others: false, reaches: [] },
  ...{ present: true, prefixes: [], devices: 0, ...more },
});
const found = (...networks: LanNetwork[]) => networksFinding({ networks, default_exit: "main" })?.found;

test("with one network there is nothing to tell", () => {
  expect(found(network("lan0"), network("eth0.20", { present: false }))).toBeUndefined();
});

test("what reaches what is told of several", () => {
  expect(found(network("lan0"), network("eth0.20"))).toBe(
    "lan0 → main, eth0.20 → main; nothing passes between them",
  );
  const things = network("eth0.30", { name: "Things", exit: "blocked", page: false, reaches: ["lan0"] });
  expect(found(network("lan0", { reaches: ["eth0.30"] }), things)).toBe(
    "lan0 → main, Things (eth0.30) → blocked; lan0, Things (eth0.30) reach each other; without the gateway's page: Things (eth0.30)",
  );
});
