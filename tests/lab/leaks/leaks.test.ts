import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET, LAN, type NetworkCards, ROUTER, UPLINK } from "../../../src/sandbox/topology.ts";
import { succeeds } from "../../rig/leaks/connections.ts";
import { measured } from "../../rig/leaks/row.ts";
import { SUITE_SCENARIOS } from "../../rig/leaks/scenarios.ts";
import type { Scenario } from "../../rig/leaks/stage.ts";
import { createLab } from "../../rig/tools/lab.ts";
import type { TrafficProgress } from "../../rig/tools/traffic.ts";
import { until } from "../../rig/tools/until.ts";
import { leaksNothing, openStages, playedWith, TIMEOUT_MS } from "./stages.ts";

setDefaultTimeout(TIMEOUT_MS);

/** What the layers are tried with one by one; `scripts/leaks` tries them with all. */
const REPRESENTATIVE = ["connect", "switch to another server", "the tunnel's link is deleted"];
/** How often the internet sees each kind of question before the sniffer is judged. */
const QUESTIONS = 5;

describe.concurrent("one layer without the other:", () => {
  const stages = openStages([2, "routing alone"], [1, "firewall alone"], [2, "neither"]);
  const scenarios = SUITE_SCENARIOS.filter((scenario) => REPRESENTATIVE.includes(scenario.name));

  for (const scenario of scenarios) {
    test(`routing holds by itself: ${scenario.name}`, async () => {
      const row = await stages.get(2, "routing alone").play(scenario);
      expect(row).toMatchObject({ leaked: 0, leaks: [], missed: 0 });
      expect(row.sent).toBeGreaterThan(20);
    });
    test(`the firewall holds by itself: ${scenario.name}`, async () => {
      const row = await stages.get(1, "firewall alone").play(scenario);
      expect(row).toMatchObject({ leaked: 0, leaks: [], missed: 0 });
      expect(row.sent).toBeGreaterThan(20);
    });
    test(`without either there are leaks: ${scenario.name}`, async () => {
      const row = await stages.get(2, "neither").play(scenario);
      expect(row.leaked).toBeGreaterThan(20);
      for (const { device, wrong } of row.devices) expect([device, wrong > 20]).toEqual([device, true]);
    });
  }
});

describe.each([2, 1] as const)(
  "with %i network card(s) and without a gateway's service",
  (cards: NetworkCards) => {
    test("the sniffer sees each kind of leak from the client and from the gateway, and the internet says whom it sees", async () => {
      const lab = await createLab({ cards });
      try {
        const sniffer = await lab.sniff();
        const senders = [lab.namespaces.client, lab.namespaces.gateway];
        const traffics = await Promise.all(
          senders.map((sender) => lab.traffic(sender, { resolver: INTERNET.dns4 })),
        );
        const own = cards === 1 ? LAN : UPLINK;
        const kinds = [...leaksOf(LAN.client4, LAN.client6), ...leaksOf(own.gateway4, own.gateway6)];
        // What is still awaited, for the message of a failure.
        let awaited: string[] = [];
        await until(async () => {
          const { leaks } = sniffer.peek();
          const counts = await Promise.all(traffics.map((each) => each.count()));
          const isSeen = ({ web, dns }: TrafficProgress) =>
            [web, dns].every((tally) => (tally?.seenAs[ROUTER.public4] ?? 0) >= QUESTIONS);
          awaited = [
            ...kinds.filter((kind) => !leaks.some((line) => kind.test(line))).map(String),
            ...counts.filter((count) => !isSeen(count)).map((count) => JSON.stringify(count)),
          ];
          return awaited.length === 0;
        }).catch((cause) => {
          throw new Error(`not seen: ${awaited.join("; ")}`, { cause });
        });
        const traffic = await Promise.all(traffics.map((each) => each.stop()));
        const caught = await sniffer.stop();
        for (const report of traffic) {
          expect(seers(report.web)).toEqual([ROUTER.public4]);
          expect(seers(report.dns)).toEqual([ROUTER.public4]);
        }
        const nothing = { caught: { ...caught, leaks: [], missed: 0 }, traffic: [], sightings: [] };
        const row = measured(nothing, { ...nothing, caught, traffic });
        expect(row.missed).toBe(0);
        expect(row.leaked).toBe(caught.leaks.length);
        expect(measured(nothing, { ...nothing, traffic }).leaked).toBeGreaterThan(10);
      } finally {
        await lab.close();
      }
    });
  },
);

describe.each([2, 1] as const)(
  "with both layers and %i network card(s) nothing leaks:",
  (cards: NetworkCards) => {
    const stages = openStages([cards, "both"]);
    const play = (scenario: Scenario) => stages.get(cards, "both").play(scenario);
    if (cards === 1) {
      test("positive control: the servers tell a device that leaves by another exit than its own", async () => {
        const row = await play(ASTRAY);
        expect(row.leaks).toContain("device 1, whose exit is second: udp4 on main");
        expect(row.leaks).toContain("device 2, whose exit is blocked: udp4 on main");
        expect(row.failure).toBe(null);
      });
      test("positive control: a device that loses packets is told from one that does not", async () => {
        const row = await play(INTERRUPTED);
        expect(row.failure).toMatch(
          /^device 1: of \d+ udp4, \d+ arrived; device 1: of \d+ udp6, \d+ arrived$/,
        );
        expect(row.leaked).toBe(0);
      });
    }
    for (const scenario of playedWith(cards, SUITE_SCENARIOS))
      test(scenario.name, () => leaksNothing(stages.get(cards, "both"), scenario));
  },
);

const ASTRAY: Scenario = {
  name: "devices leave by main, and nobody has told the judge",
  cards: [1],
  from: "connected",
  run: async (stage) => {
    const move = async (...exits: readonly string[]) => {
      for (const [index, exit] of exits.entries()) {
        const { mac } = stage.devices.numbered(index + 1);
        await succeeds(stage.request(`/api/devices/${mac}`, { exit }, "PUT"));
      }
    };
    await move("main", "main");
    await stage.observe();
    await move("second", "blocked");
  },
};
const INTERRUPTED: Scenario = {
  name: "the second tunnel ends, and nobody has told the judge",
  cards: [1],
  from: "connected",
  spares: [1],
  run: async (stage) => {
    await stage.devices.disconnect();
    await stage.observe();
    await stage.devices.lead();
  },
};

/** The addresses from which the internet saw the questions come. */
function seers(tally: { seenAs: Record<string, number> } | undefined): string[] {
  return Object.keys(tally?.seenAs ?? {});
}

/** What `describe` of a frame says of each kind of traffic. */
function leaksOf(v4 = "", v6 = ""): RegExp[] {
  const { host4, host6, dns4 } = INTERNET;
  return [
    `${v4} > ${host4} UDP \\d+ > 7, \\d+ bytes`,
    `${v6} > ${host6} UDP \\d+ > 7, \\d+ bytes`,
    `${v4} > ${host4} TCP \\d+ > 7`,
    `${v4} > ${host4} TCP \\d+ > 80`,
    `${v4} > ${dns4} UDP \\d+ > 53, \\d+ bytes`,
    `${v4} > ${host4} ICMP type 8 code 0`,
  ].map((line) => new RegExp(`^${line.replaceAll(".", "\\.")}$`));
}
