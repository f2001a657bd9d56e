import { afterAll, beforeAll, expect } from "bun:test";
import type { Computer } from "../../src/sandbox/topology.ts";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { FORGED, Forger } from "../rig/peers/forged-answers.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { askGateway } from "../rig/tools/question.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

const TEST_MS = 240_000;
/** The first tunnel's resolver answers with another address than the second's. */
const NAME = "nothing.internet.test";
const TIMES = 8;

let lab: Lab;
let gateway: Gateway;
let forger: Forger;
let laptop: Computer;
let tv: Computer;
let camera: Computer;

beforeAll(async () => {
  lab = await createLab({ cards: 2, computers: 3 });
  forger = await Forger.start(lab);
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  [laptop, tv, camera] = lab.sandbox.computers as [Computer, Computer, Computer];
}, TEST_MS);
afterAll(async () => {
  await forger?.stop();
  await lab?.close();
}, TEST_MS);

const resolve = ({ namespace }: Computer) => askGateway(namespace, NAME);
const reach = ({ namespace }: Computer, address: string) =>
  lab.exec(namespace, ["ping", "-c", "2", "-i", "0.2", "-W", "1", address]);

/** How many queries for the name, and packets to either of its addresses, each exit saw meanwhile; and what leaked. */
async function seenDuring(work: () => Promise<unknown>) {
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const filter = `(udp dst port 53) or (icmp and (dst host ${INTERNET.host4} or dst host ${FORGED}))`;
  const [sniffer, ...taps] = await Promise.all([
    lab.sniff(),
    Wiretap.start(lab.namespaces.vpn1, vpn1, filter),
    Wiretap.start(lab.namespaces.vpn2, vpn2, filter),
  ]);
  await work();
  const [first, second] = await Promise.all(
    taps.map(async (tap) => {
      const lines = (await tap.stop()).map((line) => line.toLowerCase());
      return {
        asked: lines.filter((line) => line.includes(` a? ${NAME}.`)).length,
        toTrue: lines.some((line) => line.includes(` > ${INTERNET.host4}: icmp`)),
        toForged: lines.some((line) => line.includes(` > ${FORGED}: icmp`)),
      };
    }),
  );
  return { first, second, leaks: (await sniffer.stop()).leaks };
}

const NOTHING = { asked: 0, toTrue: false, toForged: false };

test(
  "positive control: without rules, all three ask and leave by the exit of the device",
  async () => {
    await gateway.ask("PUT", "/api/dns/lists", { lists: [], block_doh: true });
    const seen = await seenDuring(async () => {
      for (const computer of [laptop, tv, camera]) {
        expect(await resolve(computer)).toEqual([FORGED]);
        await reach(computer, FORGED);
      }
    });
    expect(seen.first).toEqual({ asked: expect.any(Number), toTrue: false, toForged: true });
    expect(seen.first?.asked).toBeGreaterThan(0);
    expect([seen.second, seen.leaks]).toEqual([NOTHING, []]);
  },
  TEST_MS,
);

test(
  "three devices with three rules for one name ask and leave each by its own exit, and no answer is another's",
  async () => {
    const rules = [
      [laptop, "second"],
      [tv, "main"],
      [camera, "blocked"],
    ] as const;
    for (const [{ mac }, exit] of rules)
      await gateway.ask("POST", "/api/destinations", { names: [NAME], devices: [mac], exit });
    const bySecond = await seenDuring(async () => {
      for (let time = 0; time < TIMES; time += 1) expect(await resolve(laptop)).toEqual([INTERNET.host4]);
      await reach(laptop, INTERNET.host4);
    });
    expect(bySecond.first).toEqual(NOTHING);
    expect(bySecond.second).toMatchObject({ toTrue: true, toForged: false });
    // From memory after the first, whose query is repeated on a busy machine.
    expect(bySecond.second?.asked).toBeWithin(1, TIMES / 2);
    const byFirst = await seenDuring(async () => {
      for (let time = 0; time < 3; time += 1) expect(await resolve(tv)).toEqual([FORGED]);
      await reach(tv, FORGED);
    });
    expect(byFirst.first).toMatchObject({ toTrue: false, toForged: true });
    expect(byFirst.second).toEqual(NOTHING);
    const byNone = await seenDuring(async () => {
      for (let time = 0; time < 3; time += 1) expect(await resolve(camera)).toEqual(["NXDOMAIN"]);
    });
    expect([byNone.first, byNone.second]).toEqual([NOTHING, NOTHING]);
    // All at once, in turns: each has its own, from memory.
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all([laptop, tv, camera].map(resolve));
      expect(answers).toEqual([[INTERNET.host4], [FORGED], ["NXDOMAIN"]]);
    }
    for (const { leaks } of [bySecond, byFirst, byNone]) expect(leaks).toEqual([]);
    const { stdout } = await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis"]);
    const led = [
      ...stdout.matchAll(/set named_\S+_(main|second|blocked)_\d+_ipv4 \{[^}]*elements = \{([^}]*)\}/g),
    ];
    expect(
      led.map(([, exit, elements = ""]) => [
        exit,
        elements.includes(FORGED),
        elements.includes(INTERNET.host4),
      ]),
    ).toEqual(
      expect.arrayContaining([
        ["main", true, false],
        ["second", false, true],
      ]),
    );
    expect(led).toHaveLength(2);
  },
  TEST_MS,
);
