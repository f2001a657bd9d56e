import { expect } from "bun:test";
import { bridgedTrouble } from "../../src/killswitch/bridged.ts";
import type { Host } from "../../src/system/host.ts";
import { cidrs } from "../fake/address.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "./namespace.ts";

const LANS = [{ interface: "br0", prefixes: cidrs("192.168.7.0/24") }];
const IPV4 = "/proc/sys/net/bridge/bridge-nf-call-iptables";
const IPV6 = "/proc/sys/net/bridge/bridge-nf-call-ip6tables";

needsNamespaces.test("a LAN's bridge whose frames pass the firewall is found if it has several ports", () =>
  inNamespace(async (host) => {
    const ip = (...words: string[]) => host.run(["ip", ...words]);
    const found = (files: Record<string, string>) => {
      // The module may be missing on the machine of the test.
      const read: Host["read"] = async (path) => files[path] ?? null;
      return bridgedTrouble({ run: host.run.bind(host), read } as Host, LANS);
    };
    await ip("link", "add", "br0", "type", "bridge");
    for (const port of ["p1", "p2"]) {
      expect(await found({ [IPV4]: "1\n" })).toBeNull();
      await ip("link", "add", port, "type", "veth", "peer", `${port}x`);
      await ip("link", "set", port, "master", "br0");
    }
    expect(await found({ [IPV4]: "1\n", [IPV6]: "0\n" })).toEqual({
      bridges: "br0",
      remedy: "sysctl -w net.bridge.bridge-nf-call-iptables=0",
    });
    expect((await found({ [IPV4]: "1\n", [IPV6]: "1\n" }))?.remedy).toBe(
      "sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0",
    );
    expect(await found({ [IPV4]: "0\n", [IPV6]: "0\n" })).toBeNull();
    expect(await found({})).toBeNull();
  }),
);
