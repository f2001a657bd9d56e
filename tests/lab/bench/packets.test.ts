import { expect, setDefaultTimeout, test } from "bun:test";
import { measurePackets } from "../../rig/bench/packets.ts";
import { connections, PacketGateway } from "../../rig/bench/packets-gateway.ts";

setDefaultTimeout(30_000);

const ROOT = process.getuid?.() === 0;
const SIZE = { lans: 1, tunnels: 1, devices: 0 };
const ASSIGNED = { lans: 1, tunnels: 2, devices: 2 };

test.skipIf(!ROOT).each([SIZE, ASSIGNED])(
  "the packets of a measurement arrive with the tunnel's address, or are counted as missing: %o",
  async (size) => {
    const gateway = await PacketGateway.open("portcullis", size, 0);
    try {
      const known = connections(1);
      for (const direction of ["up", "down"] as const) {
        await gateway.send(direction, gateway.frames(direction, 4, known), 3);
        expect(await gateway.arrived(direction)).toBe(3);
      }
      await gateway.forgetConnections();
      await gateway.send("down", gateway.frames("down", 4, known), 3);
      expect(await gateway.arrived("down")).toBe(3);
    } finally {
      await gateway.close();
    }
  },
);

test.skipIf(!ROOT)(
  "each case has a figure for the product, for a minimal gateway, and beyond forwarding alone",
  async () => {
    const measurements = await measurePackets(1, [SIZE]);
    expect(measurements).toHaveLength(13);
    for (const { name, portcullis, wgQuick } of measurements) {
      // A difference of two measurements may have any sign on a busy machine.
      const least = name.includes("more than forwarding alone") ? Number.NEGATIVE_INFINITY : 0;
      expect(portcullis).toBeGreaterThan(least);
      expect(wgQuick).toBeGreaterThan(least);
    }
  },
  60_000,
);
