import { type Answer, type DecodedPacket, decode, encode, type OptAnswer, type Packet } from "dns-packet";

/** A client's query. */
export function query(name: string, type: "A" | "AAAA" | "TXT" | "PTR" = "A", edns = false): Uint8Array {
  return encode({
    ...{ type: "query", id: 7, flags: 0x0100, questions: [{ type, name }] },
    additionals: edns ? [OPT] : [],
  });
}

export const OPT: OptAnswer = {
  ...{ type: "OPT", name: ".", udpPayloadSize: 4_096, extendedRcode: 0, ednsVersion: 0, flags: 0 },
  ...{ flag_do: false, options: [] },
};

/** A resolver's answer to the gateway's own query. */
export function reply(asked: Uint8Array, answers: Answer[], more: Partial<Packet> = {}): Uint8Array {
  const { id, questions } = decoded(asked);
  return encode({
    type: "response",
    ...(id !== undefined && { id }),
    flags: 0x8180,
    questions,
    answers,
    ...more,
  });
}

export function a(name: string, data: string, ttl = 300): Answer {
  return { type: "A", name, data, ttl };
}

/** An answer with an HTTPS record, which names a host and may have addresses of it (RFC 9460). */
export function httpsReply(asked: Uint8Array, owner: string, target: string, hint4 = ""): Uint8Array {
  const host = [...target.split(".").flatMap((label) => [label.length, ...Buffer.from(label)]), 0];
  const hints = hint4 === "" ? [] : [0, 4, 0, 4, ...hint4.split(".").map(Number)];
  const data = Buffer.from([0, 1, ...(target === "." ? [0] : host), 0, 1, 0, 3, 2, 0x68, 0x32, ...hints]);
  const record = { type: "UNKNOWN_65", name: owner, ttl: 300, data };
  const message = reply(asked, [record as never]);
  // dns-packet writes an unknown type as 0.
  message[message.length - data.length - 9] = 65;
  return message;
}

export function decoded(message: Uint8Array): DecodedPacket & { rcode?: string } {
  return decode(Buffer.from(message));
}
