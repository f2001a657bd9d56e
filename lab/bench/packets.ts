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

/** Of the whole way of a packet, against the minimal gateway. */
const LIMITS = { established: 1.1, new: 1.15 };
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
const KINDS: readonly Kind[] = ["portcullis", "minimal", "forwarding"];

type Samples = Record<Kind, number[]>;

/**
 * What the kernel needs for one packet of the LAN's, in nanoseconds, on one processor: with the product's rules, with a
 * minimal NAT gateway's, and with none. Instead of tunnels there are cables, so that no encryption is measured.
 */
export async function measurePackets(turns: number, sizes: readonly Size[] = SIZES): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const size of sizes) {
    const gateways: PacketGateway[] = [];
    try {
      for (const kind of KINDS) {
        gateways.push(await PacketGateway.open(kind, size, availableParallelism() - 1));
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
  const of = (direction: Direction, kind: Kind) => sides[kind].frames(direction, family, connections(flows));
  const measurements: Measurement[] = [];
  for (const kind of KINDS) {
    await sides[kind].forgetConnections();
    for (const direction of ["up", "down", "up"] as const)
      await sides[kind].send(direction, of(direction, kind), 1);
  }
  for (const direction of ["up", "down"] as const) {
    const samples = await inTurns(turns, async (kind) => {
      const frames = Array.from({ length: BATCH / flows }, () => of(direction, kind)).flat();
      const before = await sides[kind].arrived(direction);
      const ns = await sides[kind].send(direction, frames, BATCHES);
      assertArrived(kind, (await sides[kind].arrived(direction)) - before, frames.length * BATCHES);
      return ns;
    });
    const name = `packet ${direction}, IPv${family}, ${nameOf(size, flows)}`;
    measurements.push(
      measurementOf({
        ...{ name, unit: "ns", portcullis: samples.portcullis, wgQuick: samples.minimal },
        aim: ratioAtMost(LIMITS.established),
      }),
      beyond(samples),
    );
  }
  return measurements;
}

/** Each packet the first of a connection. */
async function opened(sides: Sides, size: Size, turns: number): Promise<Measurement> {
  const samples = await inTurns(turns, async (kind) => {
    const gateway = sides[kind];
    const frames = gateway.frames("up", 4, connections(NEW_CONNECTIONS));
    const batches = Array.from({ length: NEW_CONNECTIONS / BATCH }, (_, number) =>
      frames.slice(number * BATCH, (number + 1) * BATCH),
    );
    await gateway.forgetConnections();
    const before = await gateway.arrived("up");
    const ns: number[] = [];
    for (const batch of batches) ns.push(await gateway.send("up", batch, 1));
    assertArrived(kind, (await gateway.arrived("up")) - before, NEW_CONNECTIONS);
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

/** The sides take turns, and so does who begins. */
async function inTurns(turns: number, turn: (kind: Kind) => Promise<number>): Promise<Samples> {
  const samples: Samples = { portcullis: [], minimal: [], forwarding: [] };
  for (let number = 0; number < turns; number += 1) {
    const order = number % 2 === 0 ? KINDS : KINDS.toReversed();
    for (const kind of order) samples[kind].push(await turn(kind));
  }
  return samples;
}

function assertArrived(kind: Kind, arrived: number, sent: number): void {
  if (arrived !== sent) throw new Error(`${kind}: ${arrived} of ${sent} packets arrived, translated`);
}

function nameOf({ lans, tunnels, devices }: Size, flows?: number): string {
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
  return [
    ...(flows === undefined ? [] : [count(flows, "flow")]),
    count(lans, "LAN"),
    count(tunnels, "tunnel"),
    ...(devices === 0 ? [] : [`${devices} devices assigned`]),
  ].join(", ");
}
