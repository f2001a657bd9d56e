import { INTERNET, LAN, ROUTER, TUNNEL, UPLINK } from "../../../src/sandbox/topology.ts";
import { inject } from "./injector.ts";
import type { Lab } from "./lab.ts";
import { Listener } from "./listener.ts";
import { arpRequest, type Datagram, datagramFrame } from "./packet.ts";
import { Probe } from "./probe.ts";
import { Wiretap } from "./wiretap.ts";

/** Where programs listen for what should not come; below the ports that the kernel gives to other connections. */
const PORT = 20_200;
/** The client's ends of two flows through the tunnel, which an attacker has guessed. */
const FLOW_PORTS = { v4: 20_300, v6: 20_301 };
/** Told from the flow's own answers by its size. */
const FORGED = "x".repeat(77);
/** A private address of nobody's network here, as behind a second NAT. */
const STRANGER = { v4: "192.168.99.7", v6: "fd99::7" };

/** A place to put frames on a cable of the gateway's from: next to the client, or at the home router. */
export type Side = "lan" | "uplink";
type Forgery = Pick<Datagram, "from" | "to"> &
  Partial<Pick<Datagram, "sourcePort" | "targetPort" | "payload">>;

/** Frames to the tunnel's address, from both sides; returns from whom a program on the gateway heard. */
export async function reachTunnelAddress(lab: Lab): Promise<string[]> {
  const tunnel = tunnelAddresses(lab);
  const listener = await Listener.start(lab.namespaces.gateway, PORT);
  await forge(lab, "uplink", [
    { from: INTERNET.host4, to: tunnel.v4 },
    { from: INTERNET.host6, to: tunnel.v6 },
    { from: TUNNEL.server4, to: tunnel.v4 },
    { from: TUNNEL.server6, to: tunnel.v6 },
  ]);
  await forge(lab, "lan", [
    { from: LAN.client4, to: tunnel.v4 },
    { from: LAN.client6, to: tunnel.v6 },
  ]);
  return listener.stop();
}

/** Frames into a flow of the client's as the tunnel's NAT sees it (CVE-2019-14899); returns those that reach the client. */
export async function reachFlow(lab: Lab): Promise<string[]> {
  const { client } = lab.namespaces;
  const flow = { protocol: "udp", port: 7, payload: "aa" } as const;
  const probe = await Probe.start(client, [
    { ...flow, address: INTERNET.host4, sourcePort: FLOW_PORTS.v4 },
    { ...flow, address: INTERNET.host6, sourcePort: FLOW_PORTS.v6 },
  ]);
  await probe.until(({ answered }) => answered > 0);
  const forged = `udp[4:2] == ${FORGED.length + 8} or ip6[44:2] == ${FORGED.length + 8}`;
  const arrived = `(dst host ${LAN.client4} or dst host ${LAN.client6}) and src port 7 and (${forged})`;
  const tap = await Wiretap.start(client, "lan0", arrived);
  const tunnel = tunnelAddresses(lab);
  for (const side of ["uplink", "lan"] as const) {
    await forge(lab, side, [
      { from: INTERNET.host4, to: tunnel.v4, sourcePort: 7, targetPort: FLOW_PORTS.v4 },
      { from: INTERNET.host6, to: tunnel.v6, sourcePort: 7, targetPort: FLOW_PORTS.v6 },
    ]);
  }
  const caught = await tap.stop();
  await probe.stop();
  return caught;
}

/** Frames from hosts with private addresses on the uplink's side; returns whom gateway and client heard from. */
export async function reachFromUplink(lab: Lab): Promise<string[]> {
  const { client, gateway } = lab.namespaces;
  const listeners = await Promise.all([client, gateway].map((namespace) => Listener.start(namespace, PORT)));
  const targets4: string[] = [LAN.client4, LAN.gateway4];
  const targets6: string[] = [LAN.client6, LAN.gateway6];
  const sources4 = [STRANGER.v4];
  const sources6 = [STRANGER.v6];
  if (lab.sandbox.cards === 2) {
    targets4.push(UPLINK.gateway4);
    targets6.push(UPLINK.gateway6);
    // The home router is a stranger too, and nobody there has an address of the LAN's.
    sources4.push(ROUTER.lan[2].v4, LAN.client4);
    sources6.push(ROUTER.lan[2].v6, LAN.client6);
  }
  const pairs = (sources: string[], targets: string[]) =>
    sources.flatMap((from) => targets.map((to) => ({ from, to })));
  await forge(lab, "uplink", [...pairs(sources4, targets4), ...pairs(sources6, targets6)]);
  return (await Promise.all(listeners.map((listener) => listener.stop()))).flat();
}

/** The client's own frames to the gateway; returns whom a program there heard from. */
export async function reachFromLan(lab: Lab): Promise<string[]> {
  const listener = await Listener.start(lab.namespaces.gateway, PORT);
  await forge(lab, "lan", [
    { from: LAN.client4, to: LAN.gateway4 },
    { from: LAN.client6, to: LAN.gateway6 },
  ]);
  return listener.stop();
}

/** Asks the LAN, and the uplink's cable, who has an address; returns the answers. */
export async function askForAddress(lab: Lab, wanted: string): Promise<string[]> {
  const answers: string[] = [];
  for (const side of ["lan", "uplink"] as const) {
    const { namespace, own } = await place(lab, side);
    const from = side === "lan" ? LAN.client4 : ROUTER.lan[lab.sandbox.cards].v4;
    const tap = await Wiretap.start(namespace, "lan0", `arp[6:2] == 2 and arp src host ${wanted}`);
    await inject(namespace, "lan0", [arpRequest(own, from, wanted)]);
    answers.push(...(await tap.stop()));
  }
  return answers;
}

/** The gateway's addresses inside the tunnel. */
export function tunnelAddresses({ sandbox }: Lab): { v4: string; v6: string } {
  const [v4 = "", v6 = ""] = sandbox.managedAddress.split(",").map((address) => address.split("/")[0] ?? "");
  return { v4, v6 };
}

async function forge(lab: Lab, side: Side, forgeries: readonly Forgery[]): Promise<void> {
  const { namespace, own, gateway } = await place(lab, side);
  const usual = { fromMac: own, toMac: gateway, sourcePort: PORT, targetPort: PORT, payload: FORGED };
  await inject(
    namespace,
    "lan0",
    forgeries.map((forgery) => datagramFrame({ ...usual, ...forgery })),
  );
}

/** Both the client's and the router's end of the cable have the same name. */
export async function place(lab: Lab, side: Side) {
  const { namespaces, sandbox } = lab;
  const namespace = side === "lan" ? namespaces.client : namespaces.router;
  const card = side === "lan" ? sandbox.lan : sandbox.uplink;
  const macOf = async (where: string, link: string) =>
    (await lab.exec(where, ["cat", `/sys/class/net/${link}/address`])).stdout.trim().replaceAll(":", "");
  const gateway = lab.otherGateway?.[side] ?? (await macOf(namespaces.gateway, card));
  return { namespace, own: await macOf(namespace, "lan0"), gateway };
}
