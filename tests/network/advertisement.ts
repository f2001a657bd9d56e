import { ICMPV6, icmpBytes, packetBytes } from "../rig/tools/packet.ts";

/** An IPv6 packet with a router advertisement; options are in hexadecimal. */
export function advertisementPacket({
  from = "fe80::99",
  lifetime = 1_800,
  options = "",
  hopLimit = 255,
  code = 0,
  type = 134,
}: {
  from?: string;
  lifetime?: number;
  options?: string;
  hopLimit?: number;
  code?: number;
  type?: number;
} = {}): Uint8Array {
  const ends = { from, to: "ff02::1" };
  const carried = Buffer.concat([Buffer.alloc(8), Buffer.from(options, "hex")]);
  // Hop limit 64, no flags, and the lifetime.
  const bytes = icmpBytes(ends, type, code, 0x40000000 + lifetime, carried);
  return packetBytes(ends, { protocol: ICMPV6, bytes, hopLimit });
}
