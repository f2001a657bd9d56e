import { expect } from "bun:test";
import { parseMac } from "../../src/base/mac.ts";
import { jhashOf } from "../../src/network/jhash.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "../killswitch/namespace.ts";

const MACS = ["02:00:00:00:00:01", "ae:ff:00:80:7f:fe", "fe:ff:ff:ff:ff:ff"];
/** The kernel forgets a packet's zone with the packet, so its mark shows the hash. */
const MODULUS = 0x8000;

needsNamespaces.test("the hash of a MAC address is the one that the kernel computes", () =>
  inNamespace(async (host) => {
    for (const text of MACS) {
      const mac = parseMac(text);
      if (mac === null) throw new Error(text);
      const ruleset = `table netdev seen {
        set hashes { type mark; flags dynamic; size 16; }
        chain in { type filter hook ingress device "two" priority 0;
          ether saddr ${mac} meta mark set jhash ether saddr mod ${MODULUS} seed 0x1 offset ${MODULUS} add @hashes { meta mark }
        }
      }`;
      const commands = [
        `link add one address ${mac} type veth peer name two`,
        "link set one up",
        "link set two up",
        "address add 10.9.9.1/24 dev one",
        "neigh add 10.9.9.2 lladdr 02:00:00:00:00:99 dev one",
      ];
      await host.run(["ip", "-batch", "-"], { stdin: `${commands.join("\n")}\n` });
      await host.run(["nft", "-f", "-"], { stdin: ruleset });
      await host.run(["ping", "-c1", "-W1", "10.9.9.2"]).catch(() => {});
      const listed = await host.run(["nft", "list", "set", "netdev", "seen", "hashes"]);
      const seen = Number(/elements = \{ (0x[0-9a-f]+)/.exec(listed)?.[1]);
      expect([mac, MODULUS + jhashOf(mac, { modulus: MODULUS, seed: 1 })]).toEqual([mac, seen]);
      await host.run(["nft", "delete", "table", "netdev", "seen"]);
      await host.run(["ip", "link", "del", "one"]);
    }
  }),
);
