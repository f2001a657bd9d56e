import { expect, setDefaultTimeout } from "bun:test";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { LAN, ROUTER, UPLINK } from "../../../src/sandbox/topology.ts";
import { LinuxHost } from "../../../src/system/linux.ts";
import { long, needsNamespaces } from "../../fast.ts";
import { EVENTS } from "../../rig/gateways/events.ts";
import { WG_QUICK } from "../../rig/gateways/known.ts";
import { PORTCULLIS } from "../../rig/gateways/portcullis.ts";
import { judged } from "../../rig/gateways/trial.ts";

setDefaultTimeout(180_000);

needsNamespaces.test(
  "the judge sees a device's packets outside wg-quick's tunnel when its link is deleted, and none of Portcullis'",
  async () => {
    const event = EVENTS.find(({ name }) => name === "the tunnel's link is deleted");
    if (event === undefined) throw new Error("there is no such event");
    const [ofWgQuick, ofPortcullis] = await Promise.all([judged(WG_QUICK, event), judged(PORTCULLIS, event)]);
    expect(ofWgQuick.devices).toBeGreaterThan(0);
    expect(ofPortcullis).toEqual({ devices: 0, own: 0, examples: [] });
  },
);

const JUDGED_WITHIN_MS = 300_000;
/** Drops what leaves by the uplink and is not WireGuard. */
const CLOSED = `table inet closed {
  chain outgoing { type filter hook forward priority 0; oifname "wan0" drop; }
  chain own { type filter hook output priority 0; oifname "wan0" meta l4proto icmp drop; }
}
`;
const MASQUERADING = `table inet home {
  chain outgoing { type nat hook postrouting priority srcnat; oifname != "lan0" masquerade; }
}
`;

long("two gateways in a home of their own").test(
  "the judge sees what leaves a machine at the ends of two cables, and gives the cards back",
  async () => {
    const [host, judge, machine] = [new LinuxHost(), `pcjudge${process.pid}`, `pcjudged${process.pid}`];
    const inside = (namespace: string, argv: readonly string[], stdin = "") =>
      host.run(commandIn(namespace, argv), { stdin, timeoutMs: JUDGED_WITHIN_MS });
    const wgQuick = (what: string) => commandIn(machine, ["wg-quick", what, "$CONFIG"]).join(" ");
    const judgement = async () => {
      const options = [
        "--cables",
        "card0,card1",
        "--connect",
        wgQuick("up"),
        "--disconnect",
        wgQuick("down"),
      ];
      const script = `${import.meta.dir}/../../rig/gateways/main.ts`;
      const table = await inside(judge, [process.execPath, script, ...options, "disconnect"]);
      return table
        .split("\n")
        .find((line) => line.startsWith("disconnect"))
        ?.trim()
        .split(/ +/)
        .at(-1);
    };
    try {
      for (const each of [judge, machine]) await host.run(["ip", "netns", "add", each]);
      const forwarding = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
      await inside(machine, ["sysctl", "-qw", ...forwarding]);
      const cables = ["lan0", "wan0"].map(
        (end, at) => `link add card${at} netns ${judge} type veth peer name ${end} netns ${machine}\n`,
      );
      await host.run(["ip", "-batch", "-"], { stdin: cables.join("") });
      await inside(machine, ["ip", "-batch", "-"], addressesOfMachine());
      await inside(machine, ["nft", "-f", "-"], MASQUERADING);
      expect(await judgement()).toMatch(/^[1-9]\d*\//);
      await inside(machine, ["nft", "-f", "-"], CLOSED);
      expect(await judgement()).toBe("0");
      const links = await inside(judge, ["ip", "-br", "link"]);
      expect(links.match(/card\d/g)).toEqual(["card0", "card1"]);
    } finally {
      for (const each of [judge, machine]) await host.run(["ip", "netns", "del", each]);
    }
  },
  3 * JUDGED_WITHIN_MS,
);

function addressesOfMachine(): string {
  const { v4, v6 } = ROUTER.lan[2];
  return [
    "link set lo up",
    `address add ${LAN.gateway4}/24 dev lan0`,
    `address add ${LAN.gateway6}/64 dev lan0 nodad`,
    "link set lan0 up",
    `address add ${UPLINK.gateway4}/24 dev wan0`,
    `address add ${UPLINK.gateway6}/64 dev wan0 nodad`,
    "link set wan0 up",
    `route add default via ${v4}`,
    `route add default via ${v6}`,
    "",
  ].join("\n");
}
