import { LAN, ROUTER } from "../../../src/sandbox/topology.ts";
import { generateKeyPair } from "../../../src/wireguard/key.ts";
import { Phone } from "../home/phone.ts";
import { Flood } from "../tools/flood.ts";
import { processorMs } from "../tools/processor-time.ts";
import { until } from "../tools/until.ts";
import type { Contest } from "./contest.ts";
import { type Measurement, measurementOf, ratioAtLeast } from "./measure.ts";
import { residentMib } from "./memory.ts";
import type { Portcullis } from "./portcullis.ts";
import { processorMsIn } from "./processor-time.ts";
import { cameToPortcullis, cameToWgQuick, REMOTE_PORT } from "./remote-phone.ts";
import { inTurns } from "./rounds.ts";
import type { Side } from "./side.ts";
import { rateOf, streamed, type Way, wayOut } from "./stream.ts";
import { wakeUpsBetween, wakeUpsOf } from "./wake-ups.ts";

/** Short, and many of them, as in the measurement of throughput. */
const STREAM_SECONDS = 0.7;
const EQUAL = 0.95;
/** What a figure of processor time is told for. */
const BYTES = 100_000_000;
const FLOOD_MS = 20_000;
const SECOND_MS = 1_000;
/** A first message of WireGuard, of somebody who does not know the gateway's key: the rest is nothing that it takes. */
const HANDSHAKE = `01000000${"5a".repeat(144)}`;
/** Of remote devices. */
const MOST = 64;
/** The interface allows five orders a second to a client. */
const PAUSE_MS = 250;
/** After a start, for the runtime to give memory back, if it does. */
const REST_MS = 3_000;
const DEVICES = "/api/remote/devices";

interface Round {
  rate: number;
  processor: number;
}

/** A remote phone against one that a plain `wg-quick` serves, beside a device of the LAN; and what strangers cost. */
export async function measureRemote(contest: Contest, rounds: number): Promise<Measurement[]> {
  const { portcullis, wgQuick } = contest;
  const phones = new Map<Side, Phone>([
    [portcullis, await cameToPortcullis(portcullis)],
    [wgQuick, await cameToWgQuick(wgQuick)],
  ]);
  for (const side of [portcullis, wgQuick]) await side.connect(0);
  for (const phone of phones.values()) await until(async () => (await phone.seenAs()) !== null);
  const measurements = [];
  for (const { name, of } of WAYS) {
    const round = (side: Side) => stream(side, of(side, phones.get(side)?.namespace ?? ""));
    const { portcullis: ours, wgQuick: theirs } = await inTurns(contest, rounds, round);
    const both = (what: (round: Round) => number) => ({
      portcullis: ours.map(what),
      wgQuick: theirs.map(what),
    });
    measurements.push(
      measurementOf({
        name: `throughput, ${name}`,
        ...{ unit: "Mbit/s", aim: ratioAtLeast(EQUAL) },
        ...both(({ rate }) => rate),
      }),
      measurementOf({
        name: `… processor time of the gateway's programs for 100 MB`,
        unit: "ms",
        ...both(({ processor }) => processor),
      }),
    );
  }
  for (const phone of phones.values()) await phone.hangsUp();
  measurements.push(...(await measureFlood(portcullis)), ...(await measureMany(portcullis, rounds)));
  await portcullis.gateway.operate("remote", "off");
  for (const side of [portcullis, wgQuick]) await side.disconnect();
  for (const phone of phones.values()) await phone.leaves();
  return measurements;
}

const WAYS: readonly { name: string; of: (side: Side, phone: string) => Way }[] = [
  { name: "LAN to internet", of: ({ lab }) => wayOut(lab) },
  { name: "remote phone to internet", of: ({ lab }, from) => ({ ...wayOut(lab), from }) },
  {
    name: "remote phone to the LAN",
    of: ({ lab }, from) => ({ from, to: lab.namespaces.client, address: LAN.client4 }),
  },
];

async function stream({ lab }: Side, way: Way): Promise<Round> {
  const before = processorMsIn(lab.namespaces.gateway);
  const received = await streamed(way, STREAM_SECONDS);
  const used = processorMsIn(lab.namespaces.gateway) - before;
  return { rate: rateOf(received), processor: (used * BYTES) / received.bytes };
}

/** What strangers' handshakes cost the service, the program for WireGuard, and a phone. */
async function measureFlood(side: Portcullis): Promise<Measurement[]> {
  const { lab } = side;
  const stranger = await Phone.away(lab, 2);
  const quiet = await spent(side);
  const flood = Flood.start(stranger.namespace, ROUTER.public4, { port: REMOTE_PORT, hex: HANDSHAKE });
  const flooded = await spent(side);
  const sent = await flood.stop();
  await stranger.leaves();
  const perSecond = Math.round((sent * SECOND_MS) / flooded.ms);
  const line = (what: string, unit: string, of: (spent: Spent) => number) =>
    [quiet, flooded].map((each) =>
      measurementOf({
        name: `${what} in a second, ${each === quiet ? 0 : perSecond} handshakes of strangers`,
        ...{ unit, portcullis: [(of(each) * SECOND_MS) / each.ms] },
      }),
    );
  return [
    ...line("wake-ups of the service", "", ({ wakeUps }) => wakeUps),
    ...line("processor time of the service", "ms", ({ service }) => service),
    ...line("processor time of the programs for WireGuard", "ms", ({ wireguard }) => wireguard),
  ];
}

interface Spent {
  ms: number;
  wakeUps: number;
  service: number;
  wireguard: number;
}

async function spent({ lab, gateway }: Portcullis): Promise<Spent> {
  const figures = () => ({
    ms: performance.now(),
    wakeUps: wakeUpsOf(gateway.pid),
    service: processorMs(gateway.pid),
    all: processorMsIn(lab.namespaces.gateway),
  });
  const before = figures();
  await Bun.sleep(FLOOD_MS);
  const after = figures();
  const service = after.service - before.service;
  return {
    ms: after.ms - before.ms,
    wakeUps: wakeUpsBetween(before.wakeUps, after.wakeUps),
    service,
    wireguard: after.all - before.all - service,
  };
}

/** How long it takes to add, move and remove a device, and what many of them take. */
async function measureMany(side: Portcullis, rounds: number): Promise<Measurement[]> {
  const alone = await addMoveRemove(side, 1, rounds);
  const memory = async () => {
    await side.gateway.restart();
    await Bun.sleep(REST_MS);
    return residentMib(side);
  };
  const few = await memory();
  for (let number = 1; number < MOST - 1; number += 1)
    must(await side.gateway.api("POST", DEVICES, newDevice(`other ${number}`)));
  const beside = await addMoveRemove(side, MOST - 1, rounds);
  must(await side.gateway.api("POST", DEVICES, newDevice("last")));
  const many = await memory();
  const line = (devices: number, mib: number) =>
    measurementOf({ name: `resident memory, ${devices} remote`, unit: "MiB", portcullis: [mib] });
  return [...alone, ...beside, line(1, few), line(MOST, many)];
}

async function addMoveRemove(side: Portcullis, others: number, rounds: number): Promise<Measurement[]> {
  const orders = [
    { what: "add", method: "POST", path: DEVICES, body: () => newDevice("new") },
    { what: "move", method: "PATCH", path: `${DEVICES}/new`, body: () => ({ exit: "blocked" }) },
    { what: "remove", method: "DELETE", path: `${DEVICES}/new`, body: () => undefined },
  ];
  const times = orders.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, { method, path, body }] of orders.entries()) {
      const { startedAt, endedAt } = await side.call(method, path, body());
      times[index]?.push(endedAt - startedAt);
      await Bun.sleep(PAUSE_MS);
    }
  return orders.map(({ what }, index) =>
    measurementOf({
      name: `${what} a remote device, ${others} ${others === 1 ? "other" : "others"}`,
      ...{ unit: "ms", portcullis: times[index] ?? [] },
    }),
  );
}

function newDevice(name: string) {
  return { name, public_key: generateKeyPair().publicKey };
}

function must({ status, body }: { status: number; body: { error?: string } }): void {
  if (status !== 200) throw new Error(body.error);
}
