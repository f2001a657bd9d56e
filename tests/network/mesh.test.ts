import { expect, test } from "bun:test";
import { meshesBeside, withMeshes } from "../../src/network/entrances.ts";
import { meshesIn, meshPrefixOf } from "../../src/network/mesh.ts";
import { MARK_MASK } from "../../src/network/slot.ts";
import { cidr, cidrs, ip, ips } from "../fake/address.ts";
import { NETWORK } from "../killswitch/example.ts";

const cable = (name: string, ...addresses: string[]) => ({
  interface: name,
  isEthernet: false,
  addresses: cidrs(...addresses),
});
const TAILSCALE = cable("tailscale0", "100.101.102.103/32", "fd7a:115c:a1e0::1/128", "fe80::1/64");

test("the devices of a mesh have the addresses of the block that the gateway's own is from", () => {
  const prefixes = (text: string) => meshPrefixOf(cidr(text));
  expect(prefixes("100.101.102.103/32")).toBe(cidr("100.64.0.0/10"));
  expect(prefixes("100.90.1.2/16")).toBe(cidr("100.90.0.0/16"));
  expect(prefixes("10.8.0.1/24")).toBe(cidr("10.8.0.0/24"));
  expect(prefixes("fd7a:115c:a1e0::1/128")).toBe(cidr("fd7a:115c:a1e0::/48"));
  // Nothing tells whose addresses the others are, and a public one is nobody's to give.
  for (const text of ["10.8.0.1/32", "203.0.113.1/24", "2001:db8::1/128", "fe80::1/64"])
    expect(prefixes(text)).toBeNull();
});

test("only what root has named is a mesh, and only while it has an address", () => {
  const cables = [TAILSCALE, cable("wg9", "10.8.0.1/24"), cable("mesh1")];
  expect(meshesIn(cables, ["tailscale0", "mesh1"])).toEqual([
    {
      ...{ interface: "tailscale0", mesh: true, prefixes: cidrs("100.64.0.0/10", "fd7a:115c:a1e0::/48") },
      ...{ addresses: ips("100.101.102.103", "fd7a:115c:a1e0::1"), closed: [] },
    },
  ]);
});

test("a prefix that another interface or a tunnel has addresses of is not the mesh's", () => {
  const beside = meshesIn([TAILSCALE, cable("up0", "100.70.0.2/24")], ["tailscale0"]);
  expect(beside.flatMap(({ closed }) => closed)).toEqual(cidrs("100.64.0.0/10"));
  expect(beside.flatMap(({ prefixes }) => prefixes)).toEqual(cidrs("fd7a:115c:a1e0::/48"));
  const network = { ...NETWORK, meshes: meshesIn([TAILSCALE], ["tailscale0"]) };
  const left = meshesBeside(network, cidrs("100.64.0.7/32")).meshes.flatMap(({ prefixes }) => prefixes);
  expect(left).toEqual(cidrs("fd7a:115c:a1e0::/48"));
  const none = meshesBeside(network, cidrs("100.64.0.7/32", "fd7a:115c:a1e0::9/128"));
  expect(none.meshes.flatMap(({ prefixes }) => prefixes)).toEqual([]);
  expect(withMeshes(none).lans).toEqual(NETWORK.lans);
});

test("a mesh is one more network of the LAN, with routes that no other program can flush", () => {
  const { lans, linkRoutes } = withMeshes({ ...NETWORK, meshes: meshesIn([TAILSCALE], ["tailscale0"]) });
  expect(lans.at(-1)).toEqual({
    ...{ interface: "tailscale0", mesh: true, prefixes: cidrs("100.64.0.0/10", "fd7a:115c:a1e0::/48") },
  });
  expect(linkRoutes.slice(-2)).toEqual([
    { prefix: cidr("100.64.0.0/10"), interface: "tailscale0", source: ip("100.101.102.103") },
    { prefix: cidr("fd7a:115c:a1e0::/48"), interface: "tailscale0", source: null },
  ]);
  expect(withMeshes(NETWORK)).toBe(NETWORK);
});

test("the gateway's bits of a mark are none of Tailscale's", () => {
  expect(MARK_MASK & 0xff0000).toBe(0);
});
