import { ICMP, ICMPV6, icmpBytes, packetFrame, tcpBytes, UDP, udpBytes } from "../rig/tools/packet.ts";
import { Bench, GATEWAY_MAC } from "./bench.ts";
import { addressOf, macOf } from "./counterexample.ts";
import { type Family, type Packet, TCP } from "./packet.ts";
import type { Model } from "./solver.ts";
import type { State } from "./state.ts";

// A counterexample as a real packet: the frame that the proof names, at a machine with the state's texts in its kernel.

const PAYLOAD = "counterexample";

export interface Played {
  iif: string;
  oif: string;
  packet: Packet;
  model: Model;
}

/** What of the packet leaves by `oif`, in the sniffer's words: the frames that are no ARP or neighbour discovery. */
export function play(state: State, { iif, oif, packet, model }: Played): Promise<string[]> {
  return Bench.open(state, oif, async (bench) => {
    await bench.load(state.ruleset);
    const sniffer = await bench.sniff(oif);
    await bench.comeIn(iif, [frameOf(packet, model)]);
    return (await sniffer.stop()).leaks.filter((leak) =>
      leak.includes(addressOf(model(packet.dst), packet.family)),
    );
  });
}

function frameOf(packet: Packet, model: Model): Uint8Array {
  const { start, family } = packet;
  const [from, to] = [addressOf(model(start.src), family), addressOf(model(start.dst), family)];
  const way = { from, to, fromMac: macOf(model(packet.mac)).replaceAll(":", ""), toMac: GATEWAY_MAC };
  const ends = {
    from,
    to,
    sourcePort: Number(model(start.sport)),
    targetPort: Number(model(start.dport)),
    payload: PAYLOAD,
  };
  return packetFrame(way, {
    protocol: Number(model(packet.protocol)),
    hopLimit: 64,
    bytes: bodyOf(packet, model, ends, family),
  });
}

function bodyOf(
  packet: Packet,
  model: Model,
  ends: Parameters<typeof udpBytes>[0],
  family: Family,
): Uint8Array {
  const protocol = Number(model(packet.protocol));
  if (protocol === UDP) return udpBytes(ends);
  if (protocol === TCP) return tcpBytes(ends, Number(model(packet.tcpFlags)));
  if (protocol === (family === 4 ? ICMP : ICMPV6))
    return icmpBytes(
      ends,
      Number(model(packet.icmpType)),
      Number(model(packet.icmpCode)),
      0,
      Buffer.from(PAYLOAD),
    );
  return Buffer.from(PAYLOAD);
}
