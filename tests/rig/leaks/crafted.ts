import {
  type Body,
  ICMP,
  ICMPV6,
  icmpBytes,
  packetBytes,
  TCP,
  tcpBytes,
  UDP,
  udpBytes,
} from "../tools/packet.ts";

/** FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32: openings, answers, resets, late segments, ends, and what no program sends. */
const TCP_FLAGS = [0, 1, 2, 4, 16, 17, 18, 20, 24, 63];
/** Of no program here, and of no transport that NAT knows: GRE, ESP, SCTP, one for experiments (RFC 3692). */
const OTHER_PROTOCOLS = [47, 50, 132, 253];
/** A port of the internet's that answers, one for names, one of nobody's. */
const PORTS = [7, 53, 33_434];
/** Echo and its reply, router discovery, timestamp and its reply, address mask and its reply (RFC 792, 950, 1256). */
const ICMP_MESSAGES = [8, 0, 9, 10, 13, 14, 17, 18];
/** Echo and its reply, multicast listeners, and neighbour discovery from further away than the link (RFC 4443, 4861). */
const ICMPV6_MESSAGES = [128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 143];
/** Type, code, and what the type says of its own: errors about a packet that was never sent. */
const ICMP_ERRORS: [number, number, number][] = [
  [3, 0, 0],
  [3, 1, 0],
  [3, 3, 0],
  [3, 4, 1300],
  [4, 0, 0],
  [5, 1, 0x0a636309],
  [11, 0, 0],
  [12, 0, 0],
];
const ICMPV6_ERRORS: [number, number, number][] = [
  [1, 0, 0],
  [1, 4, 0],
  [2, 0, 1300],
  [3, 0, 0],
  [4, 1, 0],
];
const SOURCE_PORT = 40_400;
/** More than a tunnel carries, and less than a cable does. */
const TOO_LONG_BYTES = 1_440;

/** Packets of every kind that a router might pass on or answer, each also at the end of its hops. */
export function craftedBodies(from: string, to: string): Body[] {
  const six = to.includes(":");
  const ports = (targetPort: number, payload = "forged") => ({
    ...{ from, to, sourcePort: SOURCE_PORT, targetPort, payload },
  });
  const quoted = { protocol: UDP, bytes: udpBytes({ ...ports(7), from: to, to: from }) };
  const quote = packetBytes({ from: to, to: from }, quoted);
  const icmp = (type: number, code: number, own: number, carried: Uint8Array): Body => ({
    protocol: six ? ICMPV6 : ICMP,
    bytes: icmpBytes({ from, to }, type, code, own, carried),
  });
  const bodies: Body[] = [
    ...TCP_FLAGS.map((flags) => ({ protocol: TCP, bytes: tcpBytes(ports(7), flags) })),
    ...PORTS.map((port) => ({ protocol: UDP, bytes: udpBytes(ports(port)) })),
    { protocol: UDP, bytes: udpBytes(ports(7, "x".repeat(TOO_LONG_BYTES))) },
    ...(six ? ICMPV6_MESSAGES : ICMP_MESSAGES).map((type) => icmp(type, 0, 1, new Uint8Array(20))),
    ...(six ? ICMPV6_ERRORS : ICMP_ERRORS).map(([type, code, own]) => icmp(type, code, own, quote)),
    ...OTHER_PROTOCOLS.map((protocol) => ({ protocol, bytes: new Uint8Array(32) })),
  ];
  return [...bodies, ...bodies.map((body) => ({ ...body, hopLimit: 1 }))];
}
