import type { Neighbour } from "./ip.ts";
import { addressText } from "./listed-routes.ts";
import { attributesIn, type Message } from "./netlink.ts";
import type { Rtnetlink } from "./rtnetlink.ts";

/** From the kernel's headers (linux/neighbour.h, rtnetlink.h); the same on ARM and x86. */
export const NEIGHBOUR = { get: 30, headerBytes: 12, destination: 1, mac: 2 };
const CACHE = 3;
const STATES = [
  [0x01, "INCOMPLETE"],
  [0x02, "REACHABLE"],
  [0x04, "STALE"],
  [0x08, "DELAY"],
  [0x10, "PROBE"],
  [0x20, "FAILED"],
  [0x80, "PERMANENT"],
] as const;
const ROUTER = 0x80;
/** The kernel's ticks for programs; on every architecture that Bun runs on. */
const TICKS_A_SECOND = 100;

/** Null if the kernel does not say. Those that need no address, as on loopback, are left out. */
export function listedNeighbours(kernel: Rtnetlink): Promise<Neighbour[] | null> {
  const header = Buffer.alloc(NEIGHBOUR.headerBytes);
  return kernel.all({ type: NEIGHBOUR.get, header }, (message) => neighbourIn(message, kernel));
}

function neighbourIn({ body }: Message, kernel: Rtnetlink): Neighbour | null {
  const state = STATES.filter(([bit]) => (body.readUInt16LE(8) & bit) !== 0).map(([, name]) => name);
  const attributes = attributesIn(body.subarray(NEIGHBOUR.headerBytes));
  const address = attributes.get(NEIGHBOUR.destination);
  if (state.length === 0 || address === undefined) return null;
  const [mac, cache] = [attributes.get(NEIGHBOUR.mac), attributes.get(CACHE)];
  const seconds = (at: number) => Math.floor((cache?.readUInt32LE(at) ?? 0) / TICKS_A_SECOND);
  return {
    ...{ dst: addressText(address), dev: kernel.nameOf(body.readInt32LE(4)) },
    ...(mac && { lladdr: macText(mac) }),
    ...((body.readUInt8(10) & ROUTER) !== 0 && { router: null }),
    ...{ confirmed: seconds(0), updated: seconds(8), state },
  };
}

export function macText(bytes: Buffer | undefined): string {
  return bytes?.toString("hex").replace(/(..)(?=.)/g, "$1:") ?? "";
}
