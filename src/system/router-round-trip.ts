import type { RouterPath } from "./host.ts";
import { listenOn } from "./link-socket.ts";

const BROADCAST = "ff:ff:ff:ff:ff:ff";
/** Ethernet, IPv4, 6 bytes and 4 bytes for their addresses, a request (RFC 826). */
const REQUEST = Buffer.from("0001080006040001", "hex");
/** Where the addresses are: sender's MAC and IPv4, target's MAC and IPv4. */
const [SENDER_MAC, SENDER, TARGET_MAC, TARGET] = [8, 14, 18, 24];
const BYTES = 28;
const MAC_BYTES = 6;
const ANSWERED_WITHIN_MS = 1_000;
/** A look for the answer wakes the processor: the pauses grow with the time that has passed, by which the result differs. */
const PAUSE = { part: 1 / 6, leastMs: 1 };

/**
 * Sends an ARP request for a router's address; returns the milliseconds until its answer, or null. Throws
 * `GatewayError("unable")` if the link is gone, or has no ARP.
 */
export async function routerRoundTrip({ link, own, router }: RouterPath): Promise<number | null> {
  const socket = listenOn(link, "arp replies");
  try {
    const [ownBytes, routerBytes] = [bytesOf(own), bytesOf(router)];
    const mac = Buffer.from(socket.mac.replaceAll(":", ""), "hex");
    const isAnswer = (packet: Uint8Array) =>
      packet.length >= BYTES &&
      ownBytes.equals(packet.subarray(TARGET, TARGET + ownBytes.length)) &&
      mac.equals(packet.subarray(TARGET_MAC, TARGET_MAC + MAC_BYTES)) &&
      routerBytes.equals(packet.subarray(SENDER, SENDER + routerBytes.length));
    const request = Buffer.alloc(BYTES);
    request.set(REQUEST);
    request.set(mac, SENDER_MAC);
    request.set(ownBytes, SENDER);
    request.set(routerBytes, TARGET);
    const begun = performance.now();
    socket.send(BROADCAST, request);
    for (let passed = 0; passed < ANSWERED_WITHIN_MS; passed = performance.now() - begun) {
      await Bun.sleep(Math.max(PAUSE.leastMs, passed * PAUSE.part));
      if (socket.received()?.some(({ packet }) => isAnswer(packet))) return performance.now() - begun;
    }
    return null;
  } finally {
    socket.close();
  }
}

function bytesOf(address: string): Buffer {
  return Buffer.from(address.split(".").map(Number));
}
