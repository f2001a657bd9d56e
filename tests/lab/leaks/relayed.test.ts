import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Layer } from "../../../lab/leaks/layer.ts";
import { SCENARIOS } from "../../../lab/leaks/scenarios.ts";
import { Stage } from "../../../lab/leaks/stage.ts";

const TIMEOUT_MS = 600_000;
const LAYERS: readonly Layer[] = ["both", "routing alone", "firewall alone"];
const FLUSH = "nft flush ruleset while connected";
/** What differs most for a tunnel over TCP: its connection begins, moves, ends and is lost. */
const PLAYED = [
  ...[/^(connect|switch to another server|disconnect)$/, /^the service gets SIGKILL while connected/],
  ...[/^the tunnel's link is deleted$/, new RegExp(`^${FLUSH}$`)],
  ...[/^the uplink (gets another address|goes down and comes up) while connected$/],
  /^client and gateway send to the VPN server's own address while connected$/,
];
const scenarios = SCENARIOS.filter(({ name }) => PLAYED.some((words) => words.test(name)));

test("there are scenarios of each kind", () => {
  expect(scenarios.length).toBe(9);
});

describe.each(LAYERS)("a tunnel over TCP, %s", (layer) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open(2, layer, true);
  }, TIMEOUT_MS);
  afterAll(() => stage.close(), TIMEOUT_MS);

  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    "%s: nothing leaks while a layer is there",
    async (name, scenario) => {
      const row = await stage.play(scenario);
      // Positive control: without either layer the sniffer sees leaks.
      if (layer === "firewall alone" && name === FLUSH) return expect(row.leaked).toBeGreaterThan(0);
      expect(row).toMatchObject({ leaked: 0, missed: 0 });
      if (layer === "both") expect(row.failure).toBeNull();
      expect(row.sent).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
