import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { addressOf, contains, isPrivate, lengthOf, type Prefix } from "../../src/base/address.ts";
import { rulesFor } from "../../src/killswitch/routing-rules.ts";
import {
  type Cable,
  type LanCriteria,
  lanOf,
  lanPrefixOf,
  NO_ROLES,
  rolesAfter,
} from "../../src/network/lan.ts";
import { cidr, cidrs } from "../fake/address.ts";
import { slow } from "../fast.ts";

function cable(name: string, ...addresses: string[]): Cable {
  return { interface: name, isEthernet: true, addresses: cidrs(...addresses) };
}

function criteria(change: Partial<LanCriteria> = {}): LanCriteria {
  return { named: [], uplink: "eth0", routed: ["eth0"], roles: NO_ROLES, ...change };
}

function namesOf(cables: readonly Cable[], change: Partial<LanCriteria> = {}): string[] {
  return lanOf(cables, criteria(change)).lans.map((lan) => lan.interface);
}

const UPLINK = cable("eth0", "192.168.1.5/24", "fd01::5/64", "fe80::5/64");
const LAN = cable("eth1", "192.168.7.1/24", "fe80::1/64");
const KNOWN = { lan: ["eth1"], outside: ["eth0"] };

describe("a LAN prefix ends where private address space ends", () => {
  test.each([
    ["192.168.60.2/1", "192.168.0.0/16"],
    ["192.168.60.2/8", "192.168.0.0/16"],
    ["192.168.60.2/16", "192.168.0.0/16"],
    ["192.168.60.2/20", "192.168.48.0/20"],
    ["10.1.2.3/0", "10.0.0.0/8"],
    ["172.20.0.1/8", "172.16.0.0/12"],
    ["169.254.3.4/1", "169.254.0.0/16"],
    ["fd00::1/3", "fc00::/7"],
    ["fe80::1/1", "fe80::/10"],
    ["198.51.100.1/24", null],
    ["2001:db8::1/0", null],
    ["::ffff:10.0.0.1/96", null],
  ])("%s: %p", (address, prefix) => {
    expect(lanPrefixOf(cidr(address))).toBe(prefix === null ? null : cidr(prefix));
  });

  const address = fc.oneof(
    fc.tuple(fc.ipV4(), fc.nat(32)),
    fc.tuple(fc.constantFrom("10.1.2.3", "172.31.255.255", "192.168.60.2", "169.254.1.1"), fc.nat(32)),
    fc.tuple(fc.ipV6(), fc.nat(128)),
    fc.tuple(fc.constantFrom("fc00::1", "fdff::1", "fe80::1", "febf::1"), fc.nat(128)),
  );

  slow.test(
    "whatever the address and its length, first and last address of the LAN are private, and so is what is routed there",
    () => {
      fc.assert(
        fc.property(fc.array(address, { maxLength: 4 }), fc.boolean(), (addresses, isNamed) => {
          const texts = addresses.map(([ip, length]) => `${ip}/${length}`);
          const { lans } = lanOf([cable("eth0", ...texts)], criteria(isNamed ? { named: ["eth0"] } : {}));
          for (const { prefixes } of lans) for (const prefix of prefixes) expect(isWholly(prefix)).toBe(true);
          const routed = rulesFor({ lans, uplink: "eth0", uplinkPrefixes: [], ipv6: "on" }).filter(
            ({ text }) => /^to /.test(text),
          );
          for (const { text } of routed) expect(isWholly(cidr(text.split(" ")[1] ?? ""))).toBe(true);
        }),
        { numRuns: 1_000 },
      );
    },
    60_000,
  );

  test("a prefix that is cut off is remarked on, and no other is", () => {
    const told = (...addresses: string[]) => lanOf([cable("eth0", ...addresses)], criteria()).remarks;
    expect(told("192.168.60.2/1", "fe80::1/64")).toEqual([
      "eth0 has 192.168.60.2/1, but only 192.168.0.0/16 of it counts as LAN, because private address space ends there; correct the prefix length on the gateway or the DHCP server",
    ]);
    expect(told("192.168.60.2/16", "fd00::1/7", "198.51.100.1/1", "fe80::1/1")).toEqual([]);
  });
});

describe("the uplink", () => {
  test("is not LAN if another interface has a private network", () => {
    expect(namesOf([UPLINK, LAN])).toEqual(["eth1"]);
    expect(namesOf([UPLINK, LAN, cable("br-lan", "10.5.0.1/16")])).toEqual(["eth1", "br-lan"]);
  });

  test("is the LAN if there is no other, with all interfaces on its network", () => {
    expect(namesOf([UPLINK])).toEqual(["eth0"]);
    expect(namesOf([UPLINK, cable("wlan0", "192.168.1.6/24")], { routed: ["eth0", "wlan0"] })).toEqual([
      "eth0",
      "wlan0",
    ]);
  });

  test.each([
    ["a container's bridge", cable("docker0", "172.17.0.1/16"), ["eth0"]],
    ["a virtual machine's", cable("virbr0", "192.168.122.1/24"), ["eth0"]],
    ["another tunnel", { ...cable("vpn7", "10.6.0.1/24"), isEthernet: false }, ["eth0"]],
    ["a telephone with a default route", cable("usb0", "192.168.42.9/24"), ["eth0", "usb0"]],
    ["a self-assigned address", cable("wlan0", "169.254.9.9/16"), ["eth0"]],
    ["only link-local IPv6", cable("wlan0", "fe80::9/64"), ["eth0"]],
    ["a public address", cable("wlan0", "198.51.100.9/24"), ["eth0"]],
  ])("stays the LAN next to %s", (_, other, routed) => {
    expect(namesOf([UPLINK, other], { routed })).toEqual(["eth0"]);
  });

  test("stays the LAN next to an address that a phone leases, whose route the kernel refuses", () => {
    const phone = { ...cable("usb0", "192.168.42.9/24", "fe80::9/64"), leased: cidrs("192.168.42.9/24") };
    expect(namesOf([UPLINK, phone])).toEqual(["eth0"]);
    expect(namesOf([UPLINK, LAN, phone])).toEqual(["eth1"]);
    expect(namesOf([UPLINK, cable("eth1", "192.168.7.1/24", "fd05::9/64")])).toEqual(["eth1"]);
    const leases = cidrs("fd05::9/64", "192.168.1.5/24");
    const own = { ...cable("eth1", "192.168.7.1/24", "fd05::9/64"), leased: leases };
    expect(namesOf([{ ...UPLINK, leased: leases }, own])).toEqual(["eth1"]);
    expect(namesOf([{ ...UPLINK, leased: leases }])).toEqual(["eth0"]);
  });

  test("is not LAN before it is known, if its address is leased and another interface has its own", () => {
    const unknown = { uplink: null, routed: [] };
    const leasing = { ...UPLINK, leased: UPLINK.addresses };
    expect(namesOf([leasing, LAN], unknown)).toEqual(["eth1"]);
    expect(namesOf([leasing], unknown)).toEqual(["eth0"]);
    // Positive control: without a lease nothing tells the two apart.
    expect(namesOf([UPLINK, LAN], unknown)).toEqual(["eth0", "eth1"]);
  });

  test("is the LAN if the operator says so, with a remark if the gateway would choose otherwise", () => {
    const { lans, remarks } = lanOf([UPLINK, LAN], criteria({ named: ["eth0", "eth1"] }));
    expect(lans.map((lan) => lan.interface)).toEqual(["eth0", "eth1"]);
    expect(remarks).toEqual([
      "the uplink eth0 is LAN because the settings name it: every host on its network may use the gateway; to exclude it: --lan eth1 (PORTCULLIS_LAN)",
    ]);
    expect(lanOf([UPLINK], criteria({ named: ["eth0"] })).remarks).toEqual([]);
    expect(lanOf([UPLINK, LAN], criteria({ named: ["eth1"] })).remarks).toEqual([]);
  });
});

describe("once the LAN had an interface of its own,", () => {
  const missing =
    "no LAN: eth1 was the LAN and has no private address now, and the uplink does not take its place; if the LAN is on another interface now, name it: --lan (PORTCULLIS_LAN)";

  test.each<[string, Cable[], Partial<LanCriteria>, string[]]>([
    ["the uplink does not take its place while it has no addresses", [UPLINK, cable("eth1")], {}, []],
    ["nor while it is gone", [UPLINK], {}, []],
    ["nor while the uplink is unknown", [UPLINK, LAN], { uplink: null, routed: [] }, ["eth1"]],
    ["nor with the addresses of the LAN's own network", [cable("eth0", "192.168.7.9/24"), LAN], {}, ["eth1"]],
    [
      "nor if a route makes the LAN's interface the uplink",
      [UPLINK, LAN],
      { uplink: "eth1", routed: ["eth1"] },
      [],
    ],
    ["nor if a telephone becomes the uplink", [UPLINK, LAN], { uplink: "usb0", routed: ["usb0"] }, ["eth1"]],
    ["a further LAN is found", [UPLINK, LAN, cable("eth2", "10.2.0.1/16")], {}, ["eth1", "eth2"]],
  ])("%s", (_, cables, change, lans) => {
    expect(namesOf(cables, { roles: KNOWN, ...change })).toEqual(lans);
  });

  test("a remark says that there is no LAN", () => {
    expect(lanOf([UPLINK], criteria({ roles: KNOWN })).remarks).toEqual([missing]);
    expect(lanOf([UPLINK, LAN], criteria({ roles: KNOWN })).remarks).toEqual([]);
    expect(lanOf([UPLINK], criteria({ roles: KNOWN, named: ["eth0"] })).remarks).toEqual([]);
  });

  slow.test(
    "whatever comes and goes, an interface that was the uplink next to it is never LAN",
    () => {
      const addresses = fc.constantFrom(
        ...cidrs("192.168.1.5/24", "192.168.7.1/24", "10.0.0.1/8", "198.51.100.1/24"),
      );
      const names = ["eth0", "eth1", "usb0"];
      const moment = fc.record({
        cables: fc.array(
          fc.record({
            interface: fc.constantFrom(...names),
            isEthernet: fc.constant(true),
            addresses: fc.array(addresses, { maxLength: 2 }),
          }),
          { maxLength: 3 },
        ),
        uplink: fc.option(fc.constantFrom(...names)),
      });
      fc.assert(
        fc.property(fc.array(moment, { maxLength: 8 }), (moments) => {
          let roles = rolesAfter(NO_ROLES, lanOf([UPLINK, LAN], criteria()).lans, "eth0");
          for (const { cables, uplink } of moments) {
            const routed = uplink === null ? [] : [uplink];
            const { lans } = lanOf(cables, criteria({ uplink, routed, roles }));
            expect(lans.map((lan) => lan.interface)).not.toContain("eth0");
            expect(lans.map((lan) => lan.interface)).not.toContain(uplink ?? "eth0");
            roles = rolesAfter(roles, lans, uplink);
          }
        }),
        { numRuns: 1_000 },
      );
    },
    60_000,
  );
});

describe("what is remembered", () => {
  const lans = [{ interface: "eth1", prefixes: cidrs("192.168.7.0/24") }];
  test("is which interfaces were LAN and uplink, and nothing on a machine with one cable", () => {
    expect(rolesAfter(NO_ROLES, lans, "eth0")).toEqual(KNOWN);
    expect(rolesAfter(NO_ROLES, lans, "eth1")).toEqual(NO_ROLES);
    expect(rolesAfter(NO_ROLES, lans, null)).toEqual(NO_ROLES);
    expect(rolesAfter(KNOWN, [], "eth0")).toEqual(KNOWN);
    expect(rolesAfter(KNOWN, lans, "usb0")).toEqual({ lan: ["eth1"], outside: ["eth0", "usb0"] });
  });
});

/** A prefix is private if both of its ends are: no block of private space has a gap. */
function isWholly(prefix: Prefix): boolean {
  const address = addressOf(prefix);
  const blocks = cidrs(
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
  );
  return (
    isPrivate(address) &&
    blocks.some((block) => lengthOf(block) <= lengthOf(prefix) && contains(block, address))
  );
}
