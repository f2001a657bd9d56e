import { expect } from "bun:test";
import { foreignRoutes, removeRoutes } from "../../src/killswitch/foreign-routes.ts";
import { allSlots } from "../../src/network/slot.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "./namespace.ts";

needsNamespaces.test(
  "in the tunnels' and the LAN's tables every route that leads elsewhere is found and removed, and no other",
  () =>
    inNamespace(async (host) => {
      const lines = (...each: string[]) => ({ stdin: `${each.join("\n")}\n` });
      const links = ["up0", "lan0", "wg0", "wg2"].flatMap((name) => [
        `link add ${name} type veth peer name ${name}p`,
        `link set ${name}p up`,
        `link set ${name} up`,
      ]);
      await host.run(["ip", "-batch", "-"], lines(...links, "address add 192.0.2.2/24 dev up0"));
      await host.run(
        ["ip", "-batch", "-"],
        lines(
          "route add 198.51.100.0/24 dev wg0 table 20556",
          "route add 2001:db8:1::/48 dev wg2 table 20557",
          "route add 192.168.7.0/24 dev lan0 table 20565",
          "route add fd00:7::/64 dev lan0 table 20565",
          "route add unreachable 192.168.7.0/24 metric 4294967295 table 20565",
          "route add unreachable fd00:8::/64 metric 4294967295 table 20564",
          "route add 198.51.100.0/24 via 192.0.2.1 dev up0 table main",
          "route add 198.51.100.0/24 via 192.0.2.1 dev up0 table 20555",
        ),
      );
      // The kernel's own routes of link-local addresses come when it has found no other holder.
      const shown = async () =>
        (
          await Promise.all(
            ["-4", "-6"].map((family) => host.run(["ip", family, "route", "show", "table", "all"])),
          )
        )
          .join("")
          .replaceAll(/^.*\bfe80::.*\n/gm, "");
      const before = await shown();
      await host.run(
        ["ip", "-batch", "-"],
        lines(
          "route add 198.51.100.0/25 via 192.0.2.1 dev up0 table 20556",
          "route add 198.51.100.0/24 dev up0 metric 7 table 20556",
          "route add 203.0.113.0/24 table 20556 nexthop via 192.0.2.1 dev up0 nexthop dev wg0",
          "route add unreachable 203.0.113.7 table 20563",
          "route add 2001:db8:1::/48 dev wg0 metric 1 table 20557",
          "route add 2001:db8:2::/48 dev up0 table 20557",
          "route add 192.168.7.128/25 via 192.0.2.1 dev up0 table 20565",
          "route add fd00:7::/64 dev up0 metric 1 table 20565",
          "route add 10.8.0.0/16 via 192.0.2.1 dev up0 table 20564",
        ),
      );
      const slots = allSlots("wg");
      const found = await foreignRoutes(host, slots, ["lan0"]);
      expect(found).toHaveLength(9);
      await removeRoutes(host, found);
      expect(await foreignRoutes(host, slots, ["lan0"])).toEqual([]);
      expect(await shown()).toBe(before);
    }),
);
