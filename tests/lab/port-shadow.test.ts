import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, type NetworkCards, TUNNEL, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import type { Connection } from "../../src/system/host.ts";
import { long } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { inject } from "../rig/tools/injector.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { datagramFrame } from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(240_000);

const PAGE = `http://${INTERNET.host4}/`;
/** The tunnel's address; the server sends to it without being asked. */
const INSIDE = "10.64.0.2";
const PROBES = 40;

/** CVE-2021-3773: whoever shares an address with another by NAT takes over the other's port. */
describe.each([2, 1] as const)("with %i network cards", (cards: NetworkCards) => {
  let lab: Lab;
  let gateway: Gateway;
  let direct: LanDevice;
  let tunnelled: LanDevice;
  let own: number;
  let gatewayMac: string;

  beforeAll(async () => {
    lab = await createLab({ cards });
    [direct, tunnelled] = await Promise.all([LanDevice.plugIn(lab, 1), LanDevice.plugIn(lab, 2)]);
    gateway = await lab.startGateway();
    expect((await gateway.operate("direct", "on")).code).toBe(0);
    expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
    expect((await gateway.api("PUT", `/api/devices/${direct.mac}`, { exit: "direct" })).status).toBe(200);
    gatewayMac = (await inGateway("cat", "/sys/class/net/lan0/address")).trim().replaceAll(":", "");
    for (const { namespace } of [direct, tunnelled])
      await until(async () => (await lab.fetchFrom(namespace, PAGE)) !== null);
    own = Number(await inGateway("wg", "show", `${lab.sandbox.interface}0`, "listen-port"));
    for (const { namespace } of [direct, tunnelled]) await run(namespace, ["nft", "-f", "-"], SEEN);
  });
  afterAll(() => lab?.close());

  async function run(namespace: string, argv: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await lab.exec(namespace, argv, stdin);
    if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
    return stdout;
  }
  const inGateway = (...argv: string[]) => run(lab.namespaces.gateway, argv);

  /** Packets of the server's WireGuard that have reached a device. */
  async function reached({ namespace }: LanDevice): Promise<number> {
    const listing = await run(namespace, ["nft", "list", "table", "inet", "seen"]);
    return Number(/packets (\d+)/.exec(listing)?.[1]);
  }

  /** From WireGuard's own port to the server, many times. */
  async function shadow(device: LanDevice, sourcePort = own): Promise<void> {
    const frame = datagramFrame({
      ...{ fromMac: device.mac.replaceAll(":", ""), toMac: gatewayMac },
      ...{
        from: device.v4,
        to: VPN.vpn1.v4,
        sourcePort,
        targetPort: VPN_PORT,
        payload: "\u0004\0\0\0 shadow",
      },
    });
    await inject(device.namespace, "lan0", Array<Uint8Array>(PROBES).fill(frame));
  }

  /** How many of the probes are answered through the tunnel: by the gateway's own, and when the server begins. */
  async function answered(): Promise<number[]> {
    const ping = (namespace: string, to: string) =>
      lab.exec(namespace, ["ping", "-q", "-c", `${PROBES}`, "-i", "0.02", "-W", "2", to]);
    const pings = await Promise.all([
      ping(lab.namespaces.vpn1, INSIDE),
      ping(tunnelled.namespace, TUNNEL.server4),
      ping(lab.namespaces.gateway, TUNNEL.server4),
    ]);
    return pings.map(({ stdout }) => Number(/(\d+) received/.exec(stdout)?.[1]));
  }
  /** Nothing but replies comes in from the tunnel. */
  const ALL = [0, PROBES, PROBES];

  test("who sends from WireGuard's own port to the server takes nothing of the tunnel, and hears nothing of it", async () => {
    expect(await answered()).toEqual(ALL);
    for (const device of [direct, tunnelled]) {
      await shadow(device);
      expect(await answered()).toEqual(ALL);
      expect(await reached(device)).toBe(0);
    }
  });

  test("nor after the kernel has forgotten WireGuard's own connection, when the server speaks first", async () => {
    const { vpn1 } = lab.sandbox.serverInterfaces;
    // Otherwise a keepalive keeps it alive.
    await inGateway(
      "wg",
      "set",
      `${lab.sandbox.interface}0`,
      "peer",
      await peerOf(),
      "persistent-keepalive",
      "0",
    );
    // After this traffic WireGuard sends nothing by itself for ten seconds, so that nothing comes before the device.
    expect(await answered()).toEqual(ALL);
    for (const device of [direct, tunnelled]) {
      await forget();
      await shadow(device);
      const { stdout } = await lab.exec(lab.namespaces.vpn1, [
        "ping",
        "-q",
        "-c5",
        "-i0.05",
        "-W1",
        "-I",
        vpn1,
        INSIDE,
      ]);
      expect(stdout).toContain("5 packets transmitted");
      expect(await reached(device)).toBe(0);
      expect(await answered()).toEqual(ALL);
    }
  });

  /** As the kernel does by itself when nothing has passed for a while. */
  async function forget(): Promise<void> {
    const isOwn = ({ original, reply }: Connection) =>
      [original, reply].some(({ sourcePort, destinationPort }) =>
        [sourcePort, destinationPort].includes(own),
      );
    await new NamespaceHost(lab.namespaces.gateway).endConnections(isOwn);
  }
  const peerOf = async () => (await inGateway("wg", "show", `${lab.sandbox.interface}0`, "peers")).trim();
});

const SEEN = `table inet seen {
  chain in {
    type filter hook prerouting priority raw;
    udp sport ${VPN_PORT} counter
  }
}
`;
