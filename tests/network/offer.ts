/** What a client broadcasts when it takes the offer of a server. */
export function requestPacket(server: string): Uint8Array {
  const packet = offerPacket({ id: 1, server, address: "0.0.0.0", options: { 53: "03" } });
  packet[28] = 1;
  return packet;
}

/** An IPv4 packet with a DHCPOFFER; options are in hexadecimal, by number, and an empty one is left out. */
export function offerPacket({
  id,
  server,
  address,
  options,
}: {
  id: number;
  server: string;
  address: string;
  options: Record<number, string>;
}): Uint8Array {
  const message = Buffer.alloc(240);
  message.set([2, 1, 6, 0]);
  message.writeUInt32BE(id, 4);
  message.set(address.split(".").map(Number), 16);
  message.write("63825363", 236, "hex");
  const own = { 53: "02", 54: Buffer.from(server.split(".").map(Number)).toString("hex") };
  const fields = Object.entries({ ...own, ...options })
    .filter(([, hex]) => hex !== "")
    .map(([code, hex]) =>
      Buffer.concat([Buffer.from([Number(code), hex.length / 2]), Buffer.from(hex, "hex")]),
    );
  const headers = Buffer.alloc(28);
  headers[0] = 0x45;
  return Buffer.concat([headers, message, ...fields, Buffer.from([255])]);
}
