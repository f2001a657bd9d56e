import { expect } from "bun:test";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import type { Host } from "../../src/system/host.ts";
import { needsRoot } from "../fast.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const PATIENCE_MS = 30_000;

/** The gateway of the connected policy, without its routing rules, so that only the firewall blocks. */
const LINKS = [
  ...["lan0", "up0", "wg0"].flatMap((name, at) => [
    `link add ${name} type veth peer name peer${at}`,
    `link set ${name} up`,
    `link set peer${at} up`,
  ]),
  ...["192.168.7.1/24 dev lan0", "192.168.8.2/24 dev up0", "10.64.0.2/32 dev wg0"].map(
    (address) => `address add ${address}`,
  ),
  "route add default via 192.168.8.1",
];

/** As a container engine adds it, and a count of the DNS queries that leave by the uplink. */
const otherAt = (priority: string) => `table ip other {
  chain nat { type nat hook postrouting priority ${priority}; oifname "up0" masquerade; }
  chain count { type filter hook postrouting priority 300; oifname "up0" udp dport 53 counter; }
}`;

needsRoot.test.each(["srcnat", "srcnat - 20"])(
  "a redirected DNS query does not leave by the uplink, even if another program translates what does, at %s",
  (priority) =>
    inNamespace(async (host) => {
      await host.run(["ip", "-batch", "-"], { stdin: `${LINKS.join("\n")}\n` });
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
      await host.run(["nft", "-f", "-"], { stdin: otherAt(priority) });
      await query(host, "192.168.7.53");
      expect(await counted(host)).toBe(0);
      await host.run(["nft", "delete", "table", "inet", "portcullis"]);
      await query(host, "192.0.2.53");
      expect(await counted(host)).toBe(1);
    }),
  PATIENCE_MS,
);

/** The 12 bytes of the header are enough; they ask for recursion. */
async function query(host: Host, resolver: string): Promise<void> {
  const send = `socket.send(new Uint8Array([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), 53, "${resolver}")`;
  const text = `const socket = await Bun.udpSocket({}); try { ${send}; } catch {} socket.close();`;
  await host.run([process.execPath, "-e", text]);
}

async function counted(host: Host): Promise<number> {
  const listing = await host.run(["nft", "list", "chain", "ip", "other", "count"]);
  return Number(/counter packets (\d+)/.exec(listing)?.[1]);
}
