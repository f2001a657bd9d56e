import { expect } from "bun:test";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { needsNamespaces } from "../fast.ts";
import { inject } from "../rig/tools/injector.ts";
import { datagramFrame } from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";
import { assigned, POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const PATIENCE_MS = 180_000;
const DEVICE = "02:00:00:00:00:05";
/** Of names over TLS, and one of nobody's, the positive control. */
const [NAMES, CONTROL] = [853, 854];

/** The device's address, and the gateway's among the remote devices'. */
const WAYS = [
  ["192.168.7.50", "10.200.7.1"],
  ["fd00:7::50", "fd00:200::1"],
] as const;

const LINKS = [
  ...["link add lan0 type veth peer name peer0", "link set lan0 up", "link set peer0 up"],
  ...["link add wgr type veth peer name peer1", "link set wgr up"],
  ...["192.168.7.1/24 dev lan0", "10.200.7.1/24 dev wgr"].map((address) => `address add ${address}`),
  ...["fd00:7::1/64 dev lan0 nodad", "fd00:200::1/64 dev wgr nodad"].map(
    (address) => `address add ${address}`,
  ),
];
const ARRIVES = `table inet other {
  chain count {
    type filter hook input priority 300;
    udp dport ${NAMES} counter
    udp dport ${CONTROL} counter
  }
}`;

needsNamespaces.test.each(["amsterdam", "direct", "blocked"])(
  "a device whose exit is %s asks no resolver on the gateway at its address among the remote devices'",
  (exit) =>
    inNamespace(async (host) => {
      const policy = { ...POLICIES["remote-direct"], devices: [assigned(DEVICE, exit)] };
      await host.run(["ip", "-batch", "-"], { stdin: `${LINKS.join("\n")}\n` });
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(policy) });
      await host.run(["nft", "-f", "-"], { stdin: ARRIVES });
      const [link] = JSON.parse(await host.run(["ip", "-j", "link", "show", "lan0"]));
      const namespace = (await host.run(["ip", "netns", "identify"])).trim();
      const arrived = async () => {
        const listing = await host.run(["nft", "list", "chain", "inet", "other", "count"]);
        return [...listing.matchAll(/counter packets (\d+)/g)].map(([, packets]) => Number(packets));
      };
      const frames = [NAMES, CONTROL].flatMap((targetPort) =>
        WAYS.map(([from, to]) =>
          datagramFrame({
            ...{ fromMac: DEVICE.replaceAll(":", ""), toMac: link.address.replaceAll(":", "") },
            ...{ from, to, sourcePort: 40_000, targetPort, payload: "a question" },
          }),
        ),
      );
      await inject(namespace, "peer0", frames);
      await until(async () => (await arrived())[1] === WAYS.length);
      expect(await arrived()).toEqual([0, WAYS.length]);
    }),
  PATIENCE_MS,
);
