import { expect } from "bun:test";
import { boundsFor } from "../../src/network/bounds-table.ts";
import { COUNTERS_TABLE, countersFor } from "../../src/network/counters.ts";
import { OwnTable } from "../../src/network/own-table.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "../killswitch/namespace.ts";

const TABLES: [name: string, text: string][] = [
  [COUNTERS_TABLE, countersFor({ lans: ["lan0"], remote: null, uplink: "up0", networks: [] })],
  ["inet portcullis_bounds", boundsFor({ most: 1_000, places: 65_536, ports: [5_000], remote: null })],
];
const HOOKED = "{ type filter hook forward priority 0; policy drop; }";

needsNamespaces.test(
  "whatever another program does to an own table is seen, and it is made again as it was",
  () =>
    inNamespace(async (host) => {
      for (const [name, text] of TABLES) {
        const table = new OwnTable(host, name);
        expect(await table.isWhole()).toBe(false);
        await table.load(text);
        expect(await table.isWhole()).toBe(true);
        for (const change of [
          `delete table ${name}`,
          `add table ${name} { flags dormant; }`,
          `flush table ${name}`,
          `add chain ${name} other ${HOOKED}`,
        ]) {
          await host.run(["nft", "-f", "-"], { stdin: `${change}\n` });
          expect([change, await table.isWhole()]).toEqual([change, false]);
          await table.mend(text);
          expect([change, await table.isWhole()]).toEqual([change, true]);
          const listing = await host.run(["nft", "list", "table", ...name.split(" ")]);
          expect(listing).not.toMatch(/dormant|policy drop/);
        }
      }
    }),
);
