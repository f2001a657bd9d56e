import assert from "node:assert/strict";
import { INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { generateKeyPair } from "../../../src/wireguard/key.ts";
import { Listener } from "../tools/listener.ts";
import { portOf } from "../tools/marker.ts";
import { type Outcome, Probe } from "../tools/probe.ts";
import { askerIn, questions } from "../tools/question.ts";
import { Streamer } from "../tools/streamer.ts";
import { until } from "../tools/until.ts";
import { Wiretap } from "../tools/wiretap.ts";
import { succeeds } from "./connections.ts";
import type { Exit } from "./devices.ts";
import { DEAF } from "./dns.ts";
import { resolversForDevice } from "./questions.ts";
import type { Scenario, Stage } from "./stage.ts";
import { UNLIMITED } from "./strangers.ts";
import { tunnelLink, tunnelProcesses } from "./tampering.ts";

const PAGE = `http://${INTERNET.host4}/`;
/** So many packets, and a connection is a download. */
const ENOUGH = 100;
/** The second tunnel is the first that is made after main. */
export const SECOND_SLOT = 1;
/** From direct, and back: each exit after each other one. */
const CIRCUIT: readonly Exit[] = [
  ...(["main", "direct", "second", "direct", "blocked", "main", "second", "main", "blocked"] as const),
  ...(["second", "blocked", "direct"] as const),
];

/** What happens to the second tunnel, to a device and to its exit, while all others carry traffic. */
export const EXIT_SCENARIOS: readonly Scenario[] = [
  besideMain("the second tunnel is switched to another server and back", async (stage) => {
    for (const server of ["import-1", "second"]) {
      await stage.devices.lead(server);
      await stage.served();
    }
  }),
  besideMain("the second tunnel is disconnected, and connected again", async (stage) => {
    await stage.devices.disconnect();
    await refusedOnly(stage, 1);
    await stage.devices.lead();
  }),
  besideMain("the second tunnel is removed, and made again", async (stage) => {
    assert.equal((await stage.request("/api/tunnels/second", undefined, "DELETE")).status, 400);
    await stage.devices.assign(1, "blocked");
    await succeeds(stage.request("/api/tunnels/second", undefined, "DELETE"));
    await refusedOnly(stage, 1);
    await stage.devices.lead();
    await stage.devices.assign(1, "second");
  }),
  besideMain(
    "the second tunnel is led to a server with another key, and stays where it is",
    async (stage) => {
      const [{ customBody }] = stage.lab.sandbox.servers;
      const [name, provider] = ["of another key", "custom"];
      const body = { ...customBody, name, public_key: generateKeyPair().publicKey };
      // It may be there from an earlier play.
      await stage.request("/api/custom/add", body);
      const led = await stage.request("/api/tunnels/second", { provider, server: name }, "PUT");
      assert.equal(led.status, 500);
      await stage.served();
    },
  ),
  besideMain(
    "the service ends, the second tunnel's link is deleted, and the service starts",
    async (stage) => {
      const link = await tunnelLink(stage, SECOND_SLOT);
      await stage.gateway.kill("SIGTERM");
      await stage.inside("ip", "link", "del", "dev", link);
      await stage.gateway.start();
      await stage.mended();
    },
  ),
  besideMain("the second tunnel's process is killed", async (stage) => {
    for (const pid of await tunnelProcesses(stage, SECOND_SLOT)) process.kill(pid, "SIGKILL");
    await stage.observe();
    await stage.mended();
  }),
  besideMain("the second tunnel's link is deleted", async (stage) => {
    await stage.inside("ip", "link", "del", "dev", await tunnelLink(stage, SECOND_SLOT));
    await stage.observe();
    await stage.mended();
  }),
  besideMain("the second tunnel's server falls silent, and answers again", async (stage) => {
    const { vpn2 } = stage.lab.namespaces;
    assert.equal((await stage.lab.exec(vpn2, ["nft", "-f", "-"], DEAF)).stderr, "");
    try {
      // Without both layers nothing enters it, and nobody misses an answer.
      if (stage.isWhole) await until(async () => (await stateOfSecond(stage)) === "reconnecting");
      await stage.observe();
      await stage.sees(VPN.vpn1.v4);
    } finally {
      await stage.lab.exec(vpn2, ["nft", "delete", "table", "inet", "deaf"]);
    }
    await stage.mended();
  }),
  besideMain("a device is moved from exit to exit", async (stage) => {
    for (const exit of ["main", "blocked", "second", "blocked", "main", "second"] as const) {
      await stage.devices.assign(1, exit);
      await stage.served();
    }
  }),
  {
    name: "the reverse-path filter of each interface is strict, loose, and off",
    cards: [2, 1],
    from: "connected",
    spares: [1, 3],
    run: async (stage) => {
      for (const value of ["1", "2", "0"]) {
        const files = "/proc/sys/net/ipv4/conf/*/rp_filter";
        await stage.inside("sh", "-c", `for file in ${files}; do echo ${value} > $file; done`);
        await stage.served();
        await stage.sees(VPN.vpn1.v4);
      }
    },
  },
  {
    name: "the default exit is blocked, then the second tunnel, and main again",
    cards: [2, 1],
    from: "connected",
    spares: [1, 3],
    run: async (stage) => {
      for (const [exit, address] of [
        ["blocked", null],
        ["second", VPN.vpn2.v4],
        ["main", VPN.vpn1.v4],
      ] as const) {
        await succeeds(stage.request("/api/default-exit", { exit }, "PUT"));
        await stage.observe();
        await stage.sees(address);
      }
    },
  },
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `DNS of each device to every resolver while main is ${from}`,
      cards: [2, 1],
      from,
      run: async (stage) => {
        await asked(stage, 1, [VPN.vpn2.v4, VPN.vpn2.v6]);
        await asked(stage, 2, []);
      },
    }),
  ),
  ofSecond("DNS of each device to every resolver while the second tunnel is down", async (stage) => {
    await stage.devices.disconnect();
    await asked(stage, 1, []);
    await asked(stage, 2, []);
    await stage.devices.lead();
  }),
];

/** What happens to the exit `direct`, and to the device that has it, while all others carry traffic. */
export const DIRECT_SCENARIOS: readonly Scenario[] = [
  ofDirect("the direct device is moved between all pairs of exits", async (stage) => {
    for (const exit of CIRCUIT) {
      await stage.devices.assign(3, exit);
      await stage.served();
    }
  }),
  ofDirect("the operator withdraws the exit direct while its device downloads", async (stage) => {
    await stage.devices.turn();
    const port = portOf(3, stage.devices.epochOf(3));
    const listener = await Listener.start(stage.lab.namespaces.internet, port);
    const download = async () =>
      (await stage.leaks()).filter((leak) => leak.includes(" TCP ") && leak.endsWith(` > ${port}`)).length;
    if (stage.isWhole) await until(async () => (await download()) > ENOUGH);
    await stage.devices.withdrawDirect();
    const before = await download();
    await stage.observe();
    assert.equal(await download(), before, "the download goes on");
    await listener.stop();
    await stage.served();
  }),
  ofDirect(
    "the operator withdraws the exit direct while a server goes on sending to its device",
    async (stage) => {
      const { internet, router } = stage.lab.namespaces;
      const { namespace } = stage.devices.numbered(3);
      await stage.devices.turn();
      const port = portOf(3, stage.devices.epochOf(3));
      const server = await Streamer.start(internet, port);
      const arrived = async (where: string) => {
        const tap = await Wiretap.start(where, "lan0", `udp src port ${port}`);
        await stage.observe();
        return (await tap.stop()).length;
      };
      if (stage.isWhole) await until(async () => (await arrived(namespace)) > 0);
      await stage.devices.withdrawDirect();
      if (stage.isWhole) assert.notEqual(await arrived(router), 0, "the server sends no more");
      assert.equal(await arrived(namespace), 0, "what the server sends goes on to reach the device");
      await server.stop();
      await stage.served();
    },
  ),
  {
    ...ofDirect("the operator turns the kill switch off, and on again", async (stage) => {
      // Where a layer is missing, turning off the other one leaves nothing.
      if (!stage.isWhole) return stage.observe();
      // Without the kill switch, nothing is blocked.
      await stage.devices.assign(2, "main");
      for (const wanted of ["off", "on"]) {
        assert.equal((await stage.gateway.operate("killswitch", wanted)).code, 0);
        await stage.served();
        await stage.sees(VPN.vpn1.v4);
      }
    }),
    // Without it the kernel also answers what a server still sends to the port of a tunnel that is gone.
    allowed: (leak) => /^192\.168\.(88\.2|77\.1) > 203\.0\.113\.1[12] ICMP type 3 code 3$/.test(leak),
  },
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `DNS of the direct device to every resolver while main is ${from}`,
      cards: [2, 1],
      from,
      spares: [1],
      // Over UDP the names say whose they are; nobody else asks over TCP.
      allowed: (leak) => /^(192\.168\.(88\.2|77\.1)|fd88::2|fd77::1) > \S+ TCP \d+ > 53$/.test(leak),
      run: async (stage) => {
        const { gateway4, gateway6 } = stage.cards === 2 ? UPLINK : LAN;
        // The gateway leaves its questions to the home router, which says who asks it.
        const seenAs = [ROUTER.public4, gateway6, gateway4];
        await asked(stage, 3, seenAs, [INTERNET.dns4, INTERNET.dns6, LAN.gateway4]);
      },
    }),
  ),
];

function ofDirect(name: string, run: Scenario["run"]): Scenario {
  return { name, cards: [2, 1], from: "connected", spares: [1], run };
}

export function ofSecond(name: string, run: Scenario["run"]): Scenario {
  return { name, cards: [2, 1], from: "connected", spares: [3], run };
}

/** Of what the LAN client sends by main meanwhile, nothing is lost. */
function besideMain(name: string, run: Scenario["run"]): Scenario {
  return ofSecond(name, async (stage) => {
    const traffic = await stage.lab.traffic(stage.lab.namespaces.client, { kinds: ["udp", "udp6", "flow"] });
    await traffic.sends(ENOUGH);
    await run(stage);
    await traffic.sends(ENOUGH);
    const report = await traffic.stop();
    if (!stage.isWhole) return;
    for (const [kind, { lost, refused }] of Object.entries(report))
      assert.deepEqual([kind, lost, refused], [kind, [], 0]);
  });
}

/** The device is refused at once, and main goes on. Needs both layers. */
async function refusedOnly(stage: Stage, device: number): Promise<void> {
  const { namespace } = stage.devices.numbered(device);
  await stage.observe();
  if (!stage.isWhole) return;
  assert(await stage.lab.isRefused(namespace, PAGE), `device ${device} is not refused`);
  await stage.sees(VPN.vpn1.v4);
}

async function stateOfSecond(stage: Stage): Promise<string> {
  return (await stage.devices.second())?.state;
}

/**
 * Every question is answered by the device's exit, or refused at once: `seenAs` is where the resolvers may see it.
 * Without `answering`, everyone's IPv4 address answers over UDP if anyone does.
 */
async function asked(
  stage: Stage,
  device: number,
  seenAs: readonly string[],
  answering?: readonly string[],
): Promise<void> {
  const { namespace } = stage.devices.numbered(device);
  await stage.inside("sysctl", "-qw", ...UNLIMITED);
  // Devices of one LAN reach each other without the gateway, unless someone tells them otherwise.
  await stage.lab.exec(namespace, ["ip", "route", "replace", LAN.client4, "via", LAN.gateway4]);
  const name = `${stage.devices.labelOf(device)}.whoami.test`;
  const probe = await Probe.start(namespace, questions(resolversForDevice(stage), name));
  await probe.sends();
  const hasEnded = ({ target, answered, refused }: Outcome) => {
    if (seenAs.length === 0) return refused > 0;
    const answers = answering?.includes(target.address) ?? !target.address.includes(":");
    return target.protocol === "tcp" || !answers || answered > 0;
  };
  if (stage.isWhole) await probe.until(hasEnded);
  for (const { target, answered, answer } of await probe.stop()) {
    const question = `device ${device}'s question over ${target.protocol} to ${target.address}`;
    if (answered > 0) assert(seenAs.includes(askerIn(answer)), `${question} came from ${askerIn(answer)}`);
  }
}
