import { availableParallelism } from "node:os";
import { type Measurement, measurementOf, median, ratioAtMost } from "./measure.ts";
import {
  connections,
  type Direction,
  type Family,
  type Kind,
  PacketGateway,
  type Size,
} from "./packets-gateway.ts";
import { progress } from "./progress.ts";

/** Of the whole way of a packet, against the minimal gateway. */
const LIMITS = { 4: { up: 1.25, down: 1.2 }, 6: { up: 1.3, down: 1.3 }, new: 1.15 };
const SIZES: readonly Size[] = [
  { lans: 1, devices: 0 },
  { lans: 3, devices: 0 },
  { lans: 1, devices: 250 },
].flatMap((size) => [1, 8].map((tunnels) => ({ ...size, tunnels })));
const FLOWS = [1, 200];
/** Frames in one system call, and in one turn: some 5 ms. */
const BATCH = 200;
const BATCHES = 10;
/** Each from a port of its own; with few enough that the kernel's table does not become the subject. */
const NEW_CONNECTIONS = 2_000;
const NS_PER_SECOND = 1e9;
export const LAST_PROCESSOR = availableParallelism() - 1;
const KINDS: readonly Kind[] = ["portcullis", "minimal", "forwarding"];

type Samples = Record<Kind, number[]>;

/**
 * What the kernel needs for one packet of the LAN's, in nanoseconds, on one processor: with the product's rules, with a
 * minimal NAT gateway's, and with none. Instead of tunnels there are cables, so that no encryption is measured.
 */
export async function measurePackets(turns: number, sizes: readonly Size[] = SIZES): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const size of sizes) {
    progress(`packets, ${nameOf(size)}`);
    const gateways: PacketGateway[] = [];
    try {
      for (const kind of KINDS) {
        gateways.push(await PacketGateway.open(kind, size, LAST_PROCESSOR));
      }
      const [ours, minimal, forwarding] = gateways as [PacketGateway, PacketGateway, PacketGateway];
      const sides = { portcullis: ours, minimal, forwarding };
      for (const flows of FLOWS) measurements.push(...(await established(sides, 4, flows, size, turns)));
      measurements.push(...(await established(sides, 6, 1, size, turns)));
      measurements.push(await opened(sides, size, turns));
    } finally {
      for (const gateway of gateways) await gateway.close();
    }
  }
  return measurements;
}

type Sides = Record<Kind, PacketGateway>;

async function established(
  sides: Sides,
  family: Family,
  flows: number,
  size: Size,
  turns: number,
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const direction of ["up", "down"] as const) {
    const samples = await packetTimes(KINDS, sides, { direction, family, flows, turns });
    const name = `packet ${direction}, IPv${family}, ${nameOf(size, flows)}`;
    measurements.push(
      measurementOf({
        ...{ name, unit: "ns", portcullis: samples.portcullis, wgQuick: samples.minimal },
        aim: ratioAtMost(LIMITS[family][direction]),
      }),
      beyond(samples),
    );
  }
  return measurements;
}

interface Packets {
  direction: Direction;
  family: Family;
  flows: number;
  turns: number;
}

/** Nanoseconds that each gateway needs for a packet of connections that it knows. */
export async function packetTimes<Name extends string>(
  names: readonly Name[],
  gateways: Record<Name, PacketGateway>,
  { direction, family, flows, turns }: Packets,
): Promise<Record<Name, number[]>> {
  const of = (way: Direction, name: Name) => gateways[name].frames(way, family, connections(flows));
  for (const name of names) {
    await gateways[name].forgetConnections();
    for (const way of ["up", "down", "up"] as const) await gateways[name].send(way, of(way, name), 1);
    await gateways[name].newlyArrived(direction);
  }
  return inTurns(names, turns, async (name) => {
    const frames = Array.from({ length: BATCH / flows }, () => of(direction, name)).flat();
    const ns = await gateways[name].send(direction, frames, BATCHES);
    assertArrived(name, await gateways[name].newlyArrived(direction), frames.length * BATCHES);
    return ns;
  });
}

/** Each packet the first of a connection. */
async function opened(sides: Sides, size: Size, turns: number): Promise<Measurement> {
  for (const kind of KINDS) await sides[kind].newlyArrived("up");
  const samples = await inTurns(KINDS, turns, async (kind) => {
    const gateway = sides[kind];
    const frames = gateway.frames("up", 4, connections(NEW_CONNECTIONS));
    const batches = Array.from({ length: NEW_CONNECTIONS / BATCH }, (_, number) =>
      frames.slice(number * BATCH, (number + 1) * BATCH),
    );
    await gateway.forgetConnections();
    const ns: number[] = [];
    for (const batch of batches) ns.push(await gateway.send("up", batch, 1));
    assertArrived(kind, await gateway.newlyArrived("up"), NEW_CONNECTIONS);
    return median(ns);
  });
  const perSecond = (each: readonly number[]) => each.map((ns) => NS_PER_SECOND / ns);
  return measurementOf({
    name: `new connections a second, ${nameOf(size)}`,
    ...{ unit: "", portcullis: perSecond(samples.portcullis), wgQuick: perSecond(samples.minimal) },
    aim: {
      text: `ratio ≥ 1/${LIMITS.new}`,
      met: (_, ratio) => ratio >= 1 / LIMITS.new,
    },
  });
}

/** What the rules and the routing cost beyond forwarding alone. */
function beyond({ portcullis, minimal, forwarding }: Samples): Measurement {
  const alone = median(forwarding);
  return measurementOf({
    name: `… more than forwarding alone (${alone.toFixed(0)} ns)`,
    ...{
      unit: "ns",
      portcullis: portcullis.map((ns) => ns - alone),
      wgQuick: minimal.map((ns) => ns - alone),
    },
  });
}

/** The gateways take turns, and so does who begins. */
async function inTurns<Name extends string>(
  names: readonly Name[],
  turns: number,
  turn: (name: Name) => Promise<number>,
): Promise<Record<Name, number[]>> {
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let number = 0; number < turns; number += 1) {
    const order = number % 2 === 0 ? names : names.toReversed();
    for (const name of order) samples[name].push(await turn(name));
  }
  return samples;
}

function assertArrived(name: string, arrived: number, sent: number): void {
  if (arrived !== sent) throw new Error(`${name}: ${arrived} of ${sent} packets arrived, translated`);
}

export function nameOf({ lans, tunnels, devices }: Size, flows?: number): string {
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
  return [
    ...(flows === undefined ? [] : [count(flows, "flow")]),
    count(lans, "LAN"),
    count(tunnels, "tunnel"),
    ...(devices === 0 ? [] : [`${devices} devices assigned`]),
  ].join(", ");
}
