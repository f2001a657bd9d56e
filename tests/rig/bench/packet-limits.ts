import { type Measurement, measurementOf, ratioAtMost } from "./measure.ts";
import { LAST_PROCESSOR, nameOf, packetTimes } from "./packets.ts";
import { PacketGateway, type WhoIsLimited } from "./packets-gateway.ts";
import { progress } from "./progress.ts";

const SIZE = { lans: 1, tunnels: 1, devices: 0 };
const WHO: readonly WhoIsLimited[] = ["nobody", "the sender", "another device"];
/** Of the whole way of a packet, against the same gateway without a limit. */
const LIMIT = 1.01;

/**
 * What a packet takes more while a device has a rate and a quota: that device's packets, and those of the others. Without
 * a limit the gateway is the one that `measurePackets` has: there is no table of limits then.
 */
export async function measurePacketLimits(turns: number): Promise<Measurement[]> {
  progress("packets, with limits");
  const gateways: Partial<Record<WhoIsLimited, PacketGateway>> = {};
  try {
    for (const who of WHO) gateways[who] = await PacketGateway.open("portcullis", SIZE, LAST_PROCESSOR, who);
    const all = gateways as Record<WhoIsLimited, PacketGateway>;
    const measurements: Measurement[] = [];
    for (const direction of ["up", "down"] as const) {
      const times = await packetTimes(WHO, all, { direction, family: 4, flows: 1, turns });
      for (const who of ["the sender", "another device"] as const)
        measurements.push(
          measurementOf({
            name: `packet ${direction}, IPv4, ${nameOf(SIZE, 1)}, ${who} has a rate and a quota (against no limits)`,
            ...{ unit: "ns", portcullis: times[who], wgQuick: times.nobody, aim: ratioAtMost(LIMIT) },
          }),
        );
    }
    return measurements;
  } finally {
    for (const gateway of Object.values(gateways)) await gateway.close();
  }
}
