import { FakeHost } from "../fake/host.ts";
import { offerPacket } from "../network/offer.ts";

/** A machine whose link has another DHCP server, or none. */
export function hostWith(server: string | null): FakeHost {
  const host = new FakeHost();
  host.listening.onSent = (link, packet) => {
    if (server === null) return;
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    const offer = offerPacket({ id, server, address: "192.168.7.30", options: {} });
    host.listening.hear(link, "dhcp replies", { from: "02:00:00:00:00:fe", packet: offer });
  };
  return host;
}
