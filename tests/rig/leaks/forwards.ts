import assert from "node:assert/strict";
import { VPN } from "../../../src/sandbox/topology.ts";
import { Doorbell } from "../peers/visited-port.ts";
import { type Outcome, Probe, type Target } from "../tools/probe.ts";
import { succeeds } from "./connections.ts";
import type { Scenario, Stage } from "./stage.ts";

/** The device on the second tunnel. */
const DEVICE = 1;
const PORT = 6881;
const EXTERNAL = 51_413;
const PROTOCOLS = ["tcp", "udp"] as const;
const SERVERS = ["vpn1", "vpn2"] as const;

/** Hosts on the internet ring at a forwarded port all the time, at both servers, while its tunnel and its device change. */
export const FORWARD_SCENARIOS: readonly Scenario[] = [
  {
    name: "a port is forwarded to a device, which is moved, and whose tunnel is disconnected and switched",
    cards: [2, 1],
    from: "connected",
    spares: [3],
    run: async (stage) => {
      const bell = await Doorbell.start(stage.lab, stage.devices.numbered(DEVICE).namespace, PORT);
      await openPorts(stage);
      const probe = await Probe.start(stage.lab.namespaces.internet, TARGETS);
      try {
        await play(stage, bell, probe);
      } finally {
        await probe.stop();
        bell.stop();
        for (const server of SERVERS)
          await stage.lab.exec(stage.lab.namespaces[server], ["nft", "delete", "table", "inet", "ports"]);
      }
    },
  },
];

const TARGETS: Target[] = SERVERS.flatMap((server) =>
  PROTOCOLS.flatMap((protocol) =>
    [VPN[server].v4, VPN[server].v6].map((address) => ({ protocol, address, port: EXTERNAL, payload: "21" })),
  ),
);

async function play(stage: Stage, bell: Doorbell, probe: Probe): Promise<void> {
  await probe.sends();
  assert.deepEqual(bell.rings(), [], "a port is open that nobody has forwarded");
  const path = (protocol: string) =>
    `/api/forwards/${stage.devices.numbered(DEVICE).mac}/${protocol}/${PORT}`;
  for (const protocol of PROTOCOLS)
    await succeeds(stage.request(path(protocol), { external: EXTERNAL }, "PUT"));
  const isAnswered = (server: (typeof SERVERS)[number]) => answered(stage, probe, Object.values(VPN[server]));
  await isAnswered("vpn2");
  for (const exit of ["main", "blocked", "second"] as const) {
    await stage.devices.assign(DEVICE, exit);
    bell.rings();
    if (exit === "blocked") await isSilent(stage, bell);
    else await stage.observe();
  }
  await isAnswered("vpn2");
  await stage.gateway.kill("SIGKILL");
  await isAnswered("vpn2");
  await stage.gateway.start();
  await isAnswered("vpn2");
  await stage.devices.disconnect();
  await isSilent(stage, bell);
  await stage.devices.lead("import-1");
  await isAnswered("vpn1");
  await stage.devices.lead();
  await isAnswered("vpn2");
  for (const protocol of PROTOCOLS) await succeeds(stage.request(path(protocol), undefined, "DELETE"));
  await isSilent(stage, bell);
}

/** The provider leads the port of either server to the gateway's address in the second tunnel. */
async function openPorts({ lab }: Stage): Promise<void> {
  for (const [index, server] of SERVERS.entries()) {
    const [v4, v6] = (lab.sandbox.servers[index]?.imported.address ?? "")
      .split(",")
      .map((each) => each.split("/")[0]);
    const port = `iifname "wan0" meta l4proto { tcp, udp } th dport ${EXTERNAL}`;
    const table = `table inet ports {
      chain in {
        type nat hook prerouting priority dstnat - 1
        meta nfproto ipv4 ${port} dnat ip to ${v4}
        meta nfproto ipv6 ${port} dnat ip6 to ${v6}
      }
    }\n`;
    assert.equal((await lab.exec(lab.namespaces[server], ["nft", "-f", "-"], table)).stderr, "");
  }
}

/** Returns once each port of the server has been answered since. Needs both layers. */
async function answered(stage: Stage, probe: Probe, addresses: readonly string[]): Promise<void> {
  if (!stage.isWhole) return stage.observe();
  const before = await probe.count();
  const isMore = ({ target, answered: now }: Outcome) => {
    const then = before.find((each) => Bun.deepEquals(each.target, target));
    return !addresses.includes(target.address) || now > (then?.answered ?? 0);
  };
  await probe.until(isMore);
}

/** What was on its way has come by then. */
async function isSilent(stage: Stage, bell: Doorbell): Promise<void> {
  await stage.observe();
  bell.rings();
  await stage.observe();
  assert.deepEqual(bell.rings(), [], "a closed port leads to the device");
}
