import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Mac } from "../../src/base/mac.ts";
import { leadsToHome } from "../../src/killswitch/homes.ts";
import { mergedPolicy, type PolicyPart } from "../../src/killswitch/policy.ts";
import type { RemotePart } from "../../src/killswitch/remote-part.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import { cidrs, ips } from "../fake/address.ts";
import { EXEMPTION, FIRST, FURTHER, forward, LOOKUP, NETWORK, POLICIES } from "./example.ts";

const TV = "02:00:00:00:00:20" as Mac;
const DEVICES: PolicyPart = {
  devices: [{ id: TV, exit: { to: "tunnel", name: "amsterdam" } }],
  defaultExit: { to: "blocked" },
};

const PARTS: Record<string, PolicyPart> = {
  devices: DEVICES,
  amsterdam: { endpoints: [FURTHER] },
  exemption: { exemption: EXEMPTION },
  main: { endpoints: [FIRST], carrying: [FIRST], lookup: LOOKUP },
};

/** The policy after updates of these owners, in this order. */
function policyOf(owners: readonly string[]) {
  return mergedPolicy(new Map(owners.map((owner) => [owner, PARTS[owner] ?? {}])), NETWORK);
}

describe("the policy of several owners", () => {
  test("has the part of each, main's tunnel first", () => {
    expect(policyOf(["amsterdam", "devices", "exemption", "main"])).toEqual({
      lans: NETWORK.lans,
      uplink: "up0",
      uplinkAddresses: NETWORK.uplinkAddresses,
      uplinkPrefixes: NETWORK.uplinkPrefixes,
      addresses: NETWORK.addresses,
      online: true,
      resolvers: NETWORK.resolvers,
      endpoints: [FIRST, FURTHER],
      carrying: [FIRST],
      lookups: [LOOKUP],
      exemptions: [EXEMPTION],
      devices: [{ id: TV, exit: { to: "tunnel", name: "amsterdam" } }],
      routed: [],
      defaultExit: { to: "blocked" },
      forwards: [],
      contacts: [],
    });
  });

  test("without one of them has all the others", () => {
    expect(policyOf(["main"])).toEqual({
      ...POLICIES.blocked,
      endpoints: [FIRST],
      carrying: [FIRST],
      lookups: [LOOKUP],
    });
    expect(policyOf(["amsterdam", "exemption"])).toEqual({
      ...POLICIES.blocked,
      endpoints: [FURTHER],
      exemptions: [EXEMPTION],
    });
    expect(policyOf([])).toEqual(POLICIES.blocked);
    expect(POLICIES.blocked.defaultExit).toEqual({ to: "tunnel", name: "main" });
  });

  test("leaves out a tunnel's addresses that this machine or the LAN uses now", () => {
    const network = { ...NETWORK, addresses: ips("fd00:64::2") };
    const endpoint = { ...FIRST, addresses: ips("10.5.0.9", "10.64.0.2", "fd00:64::2") };
    const policy = mergedPolicy(
      new Map([["main", { endpoints: [endpoint], carrying: [endpoint] }]]),
      network,
    );
    const here = { ...FIRST, addresses: ips("10.64.0.2") };
    expect(policy).toEqual({
      ...POLICIES.blocked,
      addresses: network.addresses,
      endpoints: [here],
      carrying: [here],
    });
  });

  test("leads a port only to its device, and only from the tunnel that is the device's exit", () => {
    const port = (device: string, from = FIRST) => forward(from, device, "tcp", 80, ["192.168.7.20"]);
    const led = (part: PolicyPart, exits: PolicyPart = {}, network = NETWORK) =>
      mergedPolicy(
        new Map([
          ["main", { endpoints: [FIRST], carrying: [FIRST] }],
          ["amsterdam", { endpoints: [FURTHER], carrying: [FURTHER] }],
          ["FORWARDS", part],
          ["DEVICES", exits],
        ]),
        network,
      ).forwards.map(({ interface: link, to }) => `${link} ${to}`);
    const forwards = [port(TV), port(TV, FURTHER)];
    expect(led({ forwards })).toEqual(["wg0 192.168.7.20"]);
    expect(led({ forwards }, DEVICES)).toEqual(["wg2 192.168.7.20"]);
    expect(led({ forwards }, { defaultExit: { to: "blocked" } })).toEqual([]);
    expect(led({ forwards }, { devices: [{ id: TV, exit: { to: "direct" } }] })).toEqual([]);
    // At another server the port is somebody else's.
    expect(led({ forwards: [port(TV, { ...FIRST, endpoint: FURTHER.endpoint })] })).toEqual([]);
    const elsewhere = ["192.168.8.20", "10.64.0.9", "fe80::20", "192.168.7.1", "203.0.113.9"];
    for (const address of elsewhere)
      expect(led({ forwards: [forward(FIRST, TV, "tcp", 80, [address])] })).toEqual([]);
  });

  test("does not depend on the order of their updates", () => {
    const orders = fc.shuffledSubarray(Object.keys(PARTS));
    fc.assert(
      fc.property(orders, (owners) => {
        expect(policyOf(owners)).toEqual(policyOf(owners.toSorted()));
      }),
    );
  });
});

describe("the policy of a home with networks", () => {
  const known = { interface: "lan0", exit: null, page: true, others: false } as const;
  const withNetworks = (networks: PolicyPart["networks"], more: PolicyPart = {}, further: PolicyPart = {}) =>
    mergedPolicy(
      new Map<string, PolicyPart>([
        ["main", { endpoints: [FIRST], carrying: [FIRST] }],
        ["amsterdam", { endpoints: [FURTHER], carrying: [FURTHER] }],
        ["devices", { ...(networks && { networks }), ...more }],
        ["further", further],
      ]),
      NETWORK,
    );

  test("has none while all of them are as the home", () => {
    expect(withNetworks([known]).networks).toBeUndefined();
    expect(withNetworks(undefined, { defaultExit: { to: "blocked" } }).networks).toBeUndefined();
  });

  test("blocks one that nobody has seen, unless the home's default exit is main", () => {
    const defaultExit = { to: "tunnel", name: "amsterdam" } as const;
    expect(withNetworks([known], { defaultExit }).networks).toEqual([
      { interface: "br-lan.5", exit: { to: "blocked" }, page: true, others: false },
    ]);
    expect(withNetworks([known], { defaultExit: { to: "tunnel", name: "main" } }).networks).toBeUndefined();
  });

  test("blocks one that nobody has seen while one that was closed is gone: it may be the same", () => {
    const newWith = (link: string, closed: object) =>
      withNetworks([known, { ...known, interface: link, ...closed }]).networks?.find(
        (each) => each.interface === "br-lan.5",
      );
    const blocked = { interface: "br-lan.5", exit: { to: "blocked" }, others: false } as const;
    expect(newWith("eth0.20", { exit: { to: "blocked" } })).toEqual({ ...blocked, page: true });
    expect(newWith("eth0.20", { page: false })).toEqual({ ...blocked, page: false });
    expect(newWith("eth0.20", {})).toBeUndefined();
    // No card can be a mesh.
    expect(newWith("mesh0", { exit: { to: "blocked" }, page: false, mesh: true })).toBeUndefined();
    // Then nobody could use it.
    const alone = withNetworks([{ ...known, page: false, interface: "eth0.20" }]).networks;
    expect(alone?.map(({ exit, page }) => ({ exit, page }))).toEqual(
      ["lan0", "br-lan.5"].map(() => ({ exit: { to: "blocked" }, page: true })),
    );
  });

  test("leads a port to a device that has no exit of its own by that of its network", () => {
    const networks = [
      known,
      { ...known, interface: "br-lan.5", exit: { to: "tunnel", name: "amsterdam" } as const },
    ];
    const port = (tunnel: typeof FIRST, address: string) => {
      const further = { forwards: [forward(tunnel, TV, "tcp", 6881, [address])] };
      return withNetworks(networks, {}, further).forwards.map((each) => each.interface);
    };
    expect([port(FIRST, "192.168.7.20"), port(FURTHER, "192.168.7.20")]).toEqual([["wg0"], []]);
    expect([port(FIRST, "10.5.0.9"), port(FURTHER, "10.5.0.9")]).toEqual([[], ["wg2"]]);
  });
});

test("a tunnel to the gateway of a home is known by its key, even while the home is left out", () => {
  const { homes = [], ...rest } = POLICIES.homes.remote ?? {};
  const part = { ...rest, networks: cidrs("10.200.7.0/24", "fd00:200::/64"), homes } as unknown as RemotePart;
  const taken = { ...NETWORK, uplinkPrefixes: cidrs("192.168.0.0/16") };
  const { remote } = mergedPolicy(new Map<string, PolicyPart>([["REMOTE", { remote: part }]]), taken);
  expect(remote?.homes).toEqual([]);
  expect(remote?.devices.filter(({ home }) => home).map(({ id }) => id)).toEqual(cidrs("10.200.7.3/32"));
  const leads = (peer?: string) => leadsToHome({ ...FURTHER, ...(peer && { peer }) }, remote ?? undefined);
  expect([leads(homes[0]?.key), leads("another"), leads()]).toEqual([true, false, false]);
});

test("a home is left out while something else here has addresses of its network", () => {
  const { homes = [], ...rest } = POLICIES.homes.remote ?? {};
  const networks = cidrs("10.200.7.0/24", "fd00:200::/64");
  const part = { ...rest, networks, homes } as unknown as RemotePart;
  const namesOn = (network: HostNetwork, more: readonly [string, PolicyPart][] = []) =>
    mergedPolicy(
      new Map<string, PolicyPart>([["REMOTE", { remote: part }], ...more]),
      network,
    ).remote?.homes?.map(({ name }) => name);
  const onLan = (prefix: string) => ({
    ...NETWORK,
    lans: [...NETWORK.lans, { interface: "lan2", prefixes: cidrs(prefix) }],
  });
  expect(namesOn(NETWORK)).toEqual(["parents", "cabin"]);
  expect(namesOn(onLan("192.168.66.128/25"))).toEqual(["cabin"]);
  expect(namesOn({ ...NETWORK, uplinkPrefixes: cidrs("192.168.0.0/16") })).toEqual([]);
  const mesh = { interface: "mesh0", prefixes: cidrs("192.168.66.0/24"), mesh: true };
  expect(namesOn({ ...NETWORK, lans: [...NETWORK.lans, mesh] })).toEqual(["cabin"]);
  const another = (prefix: string) => ({
    remote: {
      ...part,
      homes: [
        ...homes,
        { name: "another", key: "another", leavesAs: null, prefixes: cidrs(prefix), reaches: [] },
      ],
    },
  });
  // The kernel would refuse a second routing rule for the same network, and with it all that changes.
  for (const prefix of ["192.168.66.0/24", "192.168.0.0/16", "10.200.7.0/24"])
    expect(namesOn(NETWORK, [["REMOTE", another(prefix)]])).toEqual(["parents", "cabin"]);
});
