import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import type { NetworkCards } from "../../../src/sandbox/topology.ts";
import { long } from "../../fast.ts";
import type { Layer } from "../../rig/leaks/layer.ts";
import { SCENARIOS } from "../../rig/leaks/scenarios.ts";
import { Stage } from "../../rig/leaks/stage.ts";
import { TRANSPORTS } from "../../rig/peers/relayed-servers.ts";

const { test } = long("the same tunnel inside another transport");

setDefaultTimeout(600_000);

const FLUSH = "nft flush ruleset while connected";
/** What one layer is tried with alone, as it is with a plain tunnel; `scripts/leaks` tries it with all. */
const ALONE =
  /^(connect|switch to another server|the tunnel's link is deleted|nft flush ruleset while connected)$/;
/** What differs most for a relayed tunnel: its socket begins, moves, ends and is lost. `scripts/leaks` plays all. */
const PLAYED = [
  ...[/^(connect|switch to another server|disconnect)$/, /^the service gets SIGKILL while connected/],
  ...[/^the tunnel's link is deleted$/, new RegExp(`^${FLUSH}$`)],
  ...[/^the uplink (gets another address|goes down and comes up) while connected$/],
  /^client and gateway send to the VPN server's own address while connected$/,
];
const scenarios = SCENARIOS.filter(({ name }) => PLAYED.some((words) => words.test(name)));
const STAGES: readonly [cards: NetworkCards, layer: Layer][] = [
  [2, "both"],
  [1, "both"],
  [2, "routing alone"],
  [2, "firewall alone"],
  [2, "neither"],
];

test("there are scenarios of each kind", () => {
  expect(scenarios.length).toBe(9);
});

/** With two cards and with one in turns, and with each number by half of the transports. */
describe.each(
  TRANSPORTS.flatMap((transport, nth) => STAGES.map((stage) => [transport, ...stage, nth] as const)),
)("a tunnel by %s, on a gateway with %i network card(s), %s", (transport, cards, layer, nth) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open(cards, layer, transport);
  });
  afterAll(() => stage.close());

  if (layer === "neither") {
    test("positive control: the sniffer sees leaks", async () => {
      for (const scenario of scenarios.slice(0, 2)) {
        const row = await stage.play(scenario);
        expect(row.leaked).toBeGreaterThan(20);
      }
    });
    return;
  }
  test.each(
    scenarios
      .filter(({ name }, at) => (layer === "both" ? (at + nth) % 2 === cards - 1 : ALONE.test(name)))
      .map((each) => [each.name, each] as const),
  )("%s: nothing leaks while a layer is there", async (name, scenario) => {
    const row = await stage.play(scenario);
    // Positive control: without either layer the sniffer sees leaks.
    if (layer === "firewall alone" && name === FLUSH) return expect(row.leaked).toBeGreaterThan(0);
    expect(row).toMatchObject({ leaked: 0, missed: 0 });
    if (layer === "both") expect(row.failure).toBeNull();
    expect(row.sent).toBeGreaterThan(0);
  });
});
