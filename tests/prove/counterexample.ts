import { mustParseAddress } from "../../src/base/address.ts";
import { type Packet, STATES } from "./packet.ts";
import type { Model } from "./solver.ts";
import type { Term } from "./terms.ts";

// A counterexample as people read it: the packet as it comes, what conntrack says of it, and as what it leaves.

export function shown(packet: Packet, model: Model): string {
  const { start, family } = packet;
  const number = (one: Term) => Number(model(one));
  const is = (one: Term, word: string) => (model(one) === 1n ? [word] : []);
  const [state = "?"] = Object.entries(STATES).flatMap(([name, bit]) =>
    bit === number(packet.state) ? [name] : [],
  );
  const end = (side: Pick<Packet, "src" | "dst" | "sport" | "dport">) =>
    `${addressOf(model(side.src), family)}:${number(side.sport)} > ${addressOf(model(side.dst), family)}:${number(side.dport)}`;
  return [
    `from ${packet.iif}${packet.iif === "lo" ? "" : ` ${macOf(model(packet.mac))}`}, protocol ${number(packet.protocol)}, ${end(start)}`,
    `type ${number(packet.icmpType)}, flags 0x${number(packet.tcpFlags).toString(16)}, mark 0x${number(start.mark).toString(16)}`,
    ["conntrack:", state, ...is(packet.isReply, "reply"), ...is(packet.isFirst, "first")].join(" "),
    `leaves as ${end(packet)} mark 0x${number(packet.mark).toString(16)} zone ${number(packet.zone)}`,
  ].join("; ");
}

export function addressOf(value: bigint, family: 4 | 6): string {
  const width = family === 4 ? 4 : 16;
  const bytes = Array.from({ length: width }, (_, at) =>
    Number((value >> BigInt(8 * (width - 1 - at))) & 0xffn),
  );
  if (family === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  return mustParseAddress(groups.join(":"));
}

export function macOf(value: bigint): string {
  const digits = value.toString(16).padStart(12, "0");
  return digits.match(/../g)?.join(":") ?? digits;
}
