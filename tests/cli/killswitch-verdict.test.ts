import { expect, test } from "bun:test";
import { verdictOf } from "../../src/cli/killswitch.ts";
import type { Inspection } from "../../src/killswitch/report.ts";

test.each<[Pick<Inspection, "direct" | "destinations">, string]>([
  [{ direct: 0 }, "nothing reaches"],
  [{ direct: 2 }, "only the direct devices reach"],
  [{ direct: 0, destinations: true }, "only traffic to direct destinations reaches"],
  [{ direct: 1, destinations: true }, "only the direct devices, and traffic to direct destinations, reach"],
])("a kill switch in place says what leaves beside it: %j", (found, what) => {
  const verdict = verdictOf({ stands: true, firewall: true, routing: true, ...found });
  expect(verdict).toBe(`The kill switch is in place: ${what} the internet outside the tunnel.`);
});
