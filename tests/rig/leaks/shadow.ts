import assert from "node:assert/strict";
import { ROUTER, VPN, VPN_PORT } from "../../../src/sandbox/topology.ts";
import { inject } from "../tools/injector.ts";
import { place } from "../tools/intruder.ts";
import type { LanDevice } from "../tools/lan-device.ts";
import { datagramFrame } from "../tools/packet.ts";
import { until } from "../tools/until.ts";
import { isServed, PORT, type RemotePhone, withPhones } from "./remote-phones.ts";
import type { Scenario, Stage } from "./stage.ts";

/** A data message of WireGuard by its first bytes. */
const SHADOW = "\u0004\0\0\0 shadow";
const PROBES = 40;
/** What a direct device sends may leave, to a phone and to a server. */
const SENT = new RegExp(`^192\\.168\\.\\S+ > 203\\.0\\.113\\.\\d+ UDP \\d+ > \\d+, ${SHADOW.length} bytes$`);
/** What the direct device answers in the positive control, as the kernel sends it. */
const ANSWERED = /^192\.168\.\S+ > 203\.0\.113\.\d+ ICMP type 3 code 3$/;
/** The device on the stage that is direct. */
const DIRECT = 3;

/** CVE-2021-3773: who shares an address with another by NAT takes over the other's port. */
export const PORT_SHADOW: Scenario = withPhones(
  "remote phones, while devices and a neighbour send from WireGuard's own port to a phone and to a server",
  ["main"],
  async (stage, phones) => {
    const [phone] = phones as [RemotePhone];
    const own = Number((await phone.phone.run(["wg", "show", phone.phone.link, "listen-port"])).stdout);
    const targets = [
      { to: phone.phone.v4, targetPort: own },
      { to: VPN.vpn1.v4, targetPort: VPN_PORT },
    ];
    const { all } = stage.devices;
    const came = await counterAt(
      stage,
      phone.phone.namespace,
      `udp dport ${own} udp length ${8 + SHADOW.length}`,
    );
    const taken = await Promise.all(
      all.map(({ namespace }) => counterAt(stage, namespace, `udp sport { ${own}, ${VPN_PORT} }`)),
    );
    const isHeld = async () => {
      const before = (await phone.traffic.count()).udp?.answered ?? 0;
      if (stage.isWhole)
        await until(async () => ((await phone.traffic.count()).udp?.answered ?? 0) > before + 50);
      for (const count of taken) assert.equal(await count(), 0, "a device takes what comes for WireGuard");
      await isServed(stage, phone, VPN.vpn1.v4);
    };
    for (const device of all) {
      await shadow(stage, device, targets);
      await phone.traffic.sends(50);
    }
    await shadow(stage, "neighbour", targets);
    await isHeld();
    if (!stage.isWhole) return;
    // What the direct one has sent has come to the phone.
    assert.notEqual(await came(), 0);
    // The positive control: where the kernel tracks WireGuard's packets, the direct one takes them.
    await stage.gateway.kill("SIGKILL");
    await track(stage);
    const direct = stage.devices.numbered(DIRECT);
    const isTaken = async () => {
      await shadow(stage, direct, targets.slice(0, 1));
      return ((await taken[DIRECT - 1]?.()) ?? 0) > 0;
    };
    await until(isTaken, MAX_CONTROL_MS, 2 * 1_000 * FORGOTTEN_AFTER_S);
    await stage.gateway.start();
    await isServed(stage, phone, VPN.vpn1.v4);
    const at = await taken[DIRECT - 1]?.();
    await phone.traffic.sends(50);
    assert.equal(await taken[DIRECT - 1]?.(), at, "a device takes what comes for WireGuard");
  },
  { allowed: (leak) => SENT.test(leak) || ANSWERED.test(leak) },
);

/** From WireGuard's own port for phones, many times. */
async function shadow(
  stage: Stage,
  who: LanDevice | "neighbour",
  targets: readonly { to: string; targetPort: number }[],
): Promise<void> {
  const { lab, cards } = stage;
  const side = await place(lab, who === "neighbour" ? "uplink" : "lan");
  const [namespace, fromMac, from] =
    who === "neighbour"
      ? [side.namespace, side.own, ROUTER.lan[cards].v4.replace(/\d+$/, "77")]
      : [who.namespace, who.mac.replaceAll(":", ""), who.v4];
  const frames = targets.map((target) =>
    datagramFrame({ ...target, fromMac, toMac: side.gateway, from, sourcePort: PORT, payload: SHADOW }),
  );
  await inject(namespace, "lan0", Array(PROBES).fill(frames).flat());
}

/** Of the connection table, in the positive control. */
const FORGOTTEN_AFTER_S = 1;
const MAX_CONTROL_MS = 60_000;
/** Each of them keeps a device from taking over WireGuard's port. */
const PROTECTION = [
  'notrack accept comment "WireGuard from remote devices"',
  'comment "another port than that of remote devices"',
];

/**
 * Takes away that the kernel does not track what comes for WireGuard, and that a device gets another port. The device's
 * connection has that port until the kernel forgets it.
 */
async function track(stage: Stage): Promise<void> {
  for (const timeout of ["nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"])
    await stage.inside("sysctl", "-qw", `net.netfilter.${timeout}=${FORGOTTEN_AFTER_S}`);
  const { stdout } = await stage.inside("nft", "-a", "list", "table", "inet", "portcullis");
  let chain = "";
  const removed = new Set<string>();
  for (const line of stdout.split("\n")) {
    chain = /^\s*chain (\S+) \{/.exec(line)?.[1] ?? chain;
    const rule = PROTECTION.find((words) => line.includes(`${words} # handle `));
    if (rule === undefined) continue;
    const handle = line.split(" ").at(-1) ?? "";
    const argv = ["nft", "delete", "rule", "inet", "portcullis", chain, "handle", handle];
    assert.equal((await stage.inside(...argv)).stderr, "");
    removed.add(rule);
  }
  assert.equal(removed.size, PROTECTION.length);
}

async function counterAt({ lab }: Stage, namespace: string, match: string): Promise<() => Promise<number>> {
  const chain = `chain in {\ntype filter hook prerouting priority raw\n${match} counter\n}\n`;
  const table = `add table inet shadow\ndelete table inet shadow\ntable inet shadow {\n${chain}}\n`;
  const { stderr } = await lab.exec(namespace, ["nft", "-f", "-"], table);
  assert.equal(stderr, "");
  return async () => {
    const { stdout } = await lab.exec(namespace, ["nft", "list", "table", "inet", "shadow"]);
    return Number(/packets (\d+)/.exec(stdout)?.[1]);
  };
}
