import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  mtuTo,
  showAddresses,
  showAddressesOf,
  showLinkDetails,
  showLinks,
  showNeighbours,
  showRoutes,
  showRules,
} from "../../src/system/ip.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { ip } from "../fake/address.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { until } from "../rig/tools/until.ts";

const HERE = `listed${process.pid}`;
const [here, machine] = [new NamespaceHost(HERE), new LinuxHost()];
/** The kernel itself, which nobody helps, and `ip`. */
const KERNEL = { run: () => Promise.reject(new Error("only ip can tell")), listed: here.listed.bind(here) };
const IP = { run: here.run.bind(here) };
type Asked = typeof KERNEL | typeof IP;

const FAMILIES = [4, 6] as const;
/** A machine with what people have, and more. */
const LINES = `link set lo up
link add up0 type veth peer down0
link set up0 up
link set down0 up
link add off0 type veth peer off1
link set off0 up
link add br0 type bridge
link set br0 up
link set off1 master br0
tuntap add tun0 mode tun
address add 10.0.0.1/24 dev up0
address add 10.0.0.2 peer 10.0.0.9/32 dev up0
address add 10.7.0.1/24 dev up0 valid_lft 1000 preferred_lft 500
address add fd00::1/64 dev up0 nodad
address add fd00::abcd:0:0:1/64 dev up0 nodad valid_lft 1000 preferred_lft 0
address add fd00:9::1/64 dev br0
route add default via 10.0.0.5 metric 7
route add default via 10.0.0.6 metric 9 proto dhcp
route add 10.8.0.0/16 via 10.0.0.7 dev up0 onlink
route add unreachable 10.9.0.0/16
route add blackhole 10.8.0.0/16 metric 3
route add prohibit 10.14.0.1 table 77
route add throw 10.15.0.0/24 table 20556
route add 10.10.0.0/16 nexthop via 10.0.0.3 dev up0 nexthop via 10.0.0.4 dev up0 weight 3
route add 10.11.0.0/16 via inet6 fd00::7 dev up0
route add 10.12.0.1 dev up0 mtu 1300 src 10.0.0.1 proto static
route add 0.0.0.0/1 dev off0
neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev up0
neigh add 10.0.0.8 lladdr 02:00:00:00:00:08 dev up0 nud noarp
neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev up0 nud stale
route add default via fd00::9 proto ra metric 5
route add default via fe80::9 dev up0 metric 9 table 77
route add unreachable fd01::/64 metric 5
route add fd02::/64 nexthop via fd00::3 dev up0 nexthop via fd00::4 dev up0
route add ::ffff:0:0/96 dev up0
route add fd03::5 dev up0 mtu 1290
neigh add fd00::7 lladdr 02:00:00:00:00:07 dev up0 router nud stale
`;

beforeAll(async () => {
  await machine.run(["ip", "netns", "add", HERE]);
  await here.run(["ip", "-batch", "-"], { stdin: LINES });
  // By then no address is new any more.
  await until(async () => !(await here.run(["ip", "address"])).includes("tentative"));
});
afterAll(async () => {
  await machine.run(["ip", "netns", "delete", HERE]);
});

/** What the gateway reads of each row, of which `ip` prints more. */
const FIELDS = {
  link: ["ifname", "mtu", "linkinfo.info_kind", "linkinfo.info_slave_kind"],
  state: ["NO-CARRIER", "UP", "dead", "linkdown", "onlink"],
  address: ["family", "local", "prefixlen", "dynamic", "tentative"],
  route: ["dst", "gateway", "dev", "type", "protocol", "metric", "prefsrc", "via", "table", "metrics"],
};

function picked(row: object, paths: readonly string[]): object {
  const value = (path: string) =>
    path.split(".").reduce<unknown>((each, key) => (each as Record<string, unknown> | undefined)?.[key], row);
  return Object.fromEntries(
    paths.flatMap((path) => (value(path) === undefined ? [] : [[path, value(path)]])),
  );
}

const statesOf = (flags: readonly string[] = []) => FIELDS.state.filter((state) => flags.includes(state));

/** Whether both say the same, which is returned. */
async function both<T>(ask: (host: Asked) => Promise<T>): Promise<T> {
  const [kernel, program] = [await ask(KERNEL), await ask(IP)];
  expect(kernel).toEqual(program);
  return kernel;
}

describe("the kernel itself lists what ip lists", () => {
  test("links, with their kinds and the ports of a bridge", async () => {
    const links = (asked: Asked, ...which: string[]) =>
      showLinkDetails(asked, ...which).then((all) =>
        all.map((link) => ({
          ...picked(link, FIELDS.link),
          flags: statesOf(link.flags),
          isEthernet: link.link_type === "ether",
          isNone: link.link_type === "none",
        })),
      );
    expect(await both((asked) => links(asked))).toHaveLength(7);
    expect(await both((asked) => links(asked, "master", "br0"))).toMatchObject([{ ifname: "off1" }]);
    expect(await both(async (asked) => (await showLinks(asked)).map(({ ifname }) => ifname))).toContain(
      "tun0",
    );
  });

  test("addresses, of all links, of one, and of a family", async () => {
    const of = async (listing: ReturnType<typeof showAddresses>) =>
      (await listing).map(({ ifname, mtu, flags, addr_info }) => ({
        ...{ ifname, mtu, flags: statesOf(flags) },
        // `ip` prints an empty row for one of another scope.
        addresses: addr_info.filter(({ local }) => local).map((each) => picked(each, FIELDS.address)),
      }));
    expect(await both((asked) => of(showAddresses(asked)))).toHaveLength(7);
    expect(await both((asked) => of(showAddresses(asked, "dev", "up0")))).toHaveLength(1);
    for (const family of FAMILIES) await both((asked) => of(showAddressesOf(asked, family)));
    await both((asked) => of(showAddressesOf(asked, 6, "dev", "up0", "scope", "link")));
  });

  test("routes, of each table and of all", async () => {
    const of = async (listing: ReturnType<typeof showRoutes>) =>
      (await listing).map((route) => ({
        ...picked(route, FIELDS.route),
        flags: statesOf(route.flags),
        ...(route.nexthops && {
          nexthops: route.nexthops.map((hop) => ({
            ...picked(hop, ["dev", "gateway"]),
            flags: statesOf(hop.flags),
          })),
        }),
      }));
    for (const family of FAMILIES) {
      for (const which of [[], ["default"], ["table", "77"], ["table", "20556"], ["table", "all"]])
        if (family === 4 || which[1] !== "20556")
          expect(await both((asked) => of(showRoutes(asked, family, ...which)))).not.toEqual([]);
      // `ip` calls it an error.
      expect(await showRoutes(KERNEL, family, "table", "555")).toEqual([]);
    }
  });

  test("the MTU of a way", async () => {
    expect(await both((asked) => mtuTo(asked, ip("10.12.0.1"), 0x10))).toBe(1_300);
    expect(await both((asked) => mtuTo(asked, ip("fd03::5"), 0x10))).toBe(1_290);
    expect(await both((asked) => mtuTo(asked, ip("10.0.0.77"), 0x10))).toBeNull();
  });

  test("neighbours, with their ages", async () => {
    const neighbours = async (asked: Asked) =>
      (await showNeighbours(asked)).map((row) => ({
        ...picked(row, ["dst", "dev", "lladdr", "state", "router"]),
        // A second may begin in between.
        isYoung: (row.updated ?? 0) < 100,
      }));
    expect(await both(neighbours)).toHaveLength(3);
  });
});

test("what only ip can tell, ip tells: rules, and why the kernel refuses", async () => {
  for (const words of ["-4 rule show", "address show dev none0", "link show up"])
    expect(await here.listed(words.split(" "))).toBeNull();
  expect(await showRules(IP, 4)).toHaveLength(3);
});

test("a table of a thousand routes comes whole, and the event loop turns meanwhile", async () => {
  const lines = Array.from(
    { length: 1_000 },
    (_, n) => `route add 10.99.${n >> 8}.${n & 255} dev up0 table 900`,
  );
  await here.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
  const listing = showRoutes(KERNEL, 4, "table", "900");
  let turns = 0;
  let isOver = false;
  void listing.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await here.nextTurn();
    turns += 1;
  }
  const routes = await listing;
  expect(new Set(routes.map(({ dst }) => dst)).size).toBe(1_000);
  expect(turns).toBeGreaterThan(1);
});

test("a link goes without a program, and one that is not there is refused", async () => {
  await here.run(["ip", "link", "add", "gone0", "type", "bridge"]);
  expect(await here.deleteLink("gone0")).toBe(true);
  expect(await here.deleteLink("gone0")).toBe(false);
  expect((await showLinks(IP)).map(({ ifname }) => ifname)).not.toContain("gone0");
});
