import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { inject } from "../rig/tools/injector.ts";
import { ICMP, ICMPV6, icmpBytes, packetFrame, tcpBytes, UDP, udpBytes } from "../rig/tools/packet.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { addressOf, macOf } from "./counterexample.ts";
import { type Family, type Packet, TCP } from "./packet.ts";
import type { Model } from "./solver.ts";
import type { State } from "./state.ts";
import { machineOf } from "./state.ts";

// A counterexample as a real packet: a machine with the state's texts in its kernel, and the frame that the proof names.

const PAYLOAD = "counterexample";
/** All of the gateway's links have it, so that a frame for one is for it. */
const GATEWAY_MAC = "020000000099";

export interface Played {
  iif: string;
  oif: string;
  packet: Packet;
  model: Model;
}

/** What of the packet leaves by `oif`, in the sniffer's words: the frames that are no ARP or neighbour discovery. */
export async function play(state: State, { iif, oif, packet, model }: Played): Promise<string[]> {
  const [name, outside] = [`pcprove${process.pid}`, `pcproveout${process.pid}`];
  const machine = new LinuxHost();
  for (const each of [name, outside]) await machine.run(["ip", "netns", "add", each]);
  try {
    const gateway = new NamespaceHost(name);
    await build(gateway, outside, state, oif);
    await gateway.run(["nft", "-f", "-"], { stdin: state.ruleset });
    const sniffer = await Sniffer.start(outside, peerOf(oif), { endpoints: [], direction: "in" });
    await inject(outside, peerOf(iif), [frameOf(packet, model)]);
    return (await sniffer.stop()).leaks.filter((leak) =>
      leak.includes(addressOf(model(packet.dst), packet.family)),
    );
  } finally {
    for (const each of [name, outside]) await machine.run(["ip", "netns", "del", each]);
  }
}

/** The firewall has to hold alone: everything is led out by `oif`, to a neighbour that is always there. */
async function build(gateway: NamespaceHost, outside: string, state: State, oif: string): Promise<void> {
  const { links } = machineOf(state, "the firewall alone");
  for (const [name, { isEther, addresses }] of links) {
    if (name === "lo") continue;
    await gateway.run(
      isEther
        ? [
            "ip",
            "link",
            "add",
            name,
            "address",
            colons(GATEWAY_MAC),
            "type",
            "veth",
            "peer",
            "name",
            peerOf(name),
            "netns",
            outside,
          ]
        : ["ip", "tuntap", "add", name, "mode", "tun"],
    );
    const lines = addresses.map(
      (address) => `address add ${address}/${address.includes(":") ? "64 nodad" : "24"} dev ${name}`,
    );
    await gateway.run(["ip", "-batch", "-"], { stdin: [...lines, `link set ${name} up`, ""].join("\n") });
    if (isEther) await new NamespaceHost(outside).run(["ip", "link", "set", peerOf(name), "up"]);
  }
  for (const setting of [
    "net.ipv4.ip_forward=1",
    "net.ipv6.conf.all.forwarding=1",
    "net.ipv4.conf.all.rp_filter=0",
  ])
    await gateway.run(["sysctl", "-qw", setting]);
  const onto = ["via 10.99.99.1", "via fd99::1"].map((via) => `route add default ${via} dev ${oif} onlink`);
  await gateway.run(["ip", "-batch", "-"], {
    stdin: [
      ...onto,
      ...["10.99.99.1", "fd99::1"].map((router) => `neigh add ${router} lladdr 02:00:00:00:00:98 dev ${oif}`),
      "",
    ].join("\n"),
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

function peerOf(link: string): string {
  return `p-${link}`;
}

function colons(mac: string): string {
  return mac.match(/../g)?.join(":") ?? mac;
}
