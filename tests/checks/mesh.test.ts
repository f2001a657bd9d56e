import { expect, test } from "bun:test";
import { meshFinding } from "../../src/checks/mesh.ts";
import type { Mesh } from "../../src/network/mesh.ts";
import { cidr, cidrs, ips } from "../fake/address.ts";
import { NETWORK } from "../killswitch/example.ts";

const MESH: Mesh = {
  ...{ interface: "tailscale0", mesh: true, prefixes: cidrs("100.64.0.0/10"), closed: [] },
  addresses: ips("100.101.102.103"),
};
/** As `ip -j rule show` lists Tailscale's. */
const TAILSCALES = [
  { priority: 5210, src: "all", fwmark: "0x80000", fwmask: "0xff0000", table: "main" },
  { priority: 5270, src: "all", table: "52" },
];

const found = async (
  mesh: Partial<Mesh> | null,
  { rules = TAILSCALES, resolvers = [] as string[], taken = [] as string[] } = {},
) => {
  const network = {
    ...NETWORK,
    meshes: mesh === null ? [] : [{ ...MESH, ...mesh }],
    resolvers: ips(...resolvers),
  };
  const host = { run: async () => JSON.stringify(rules) };
  return (await meshFinding(host, network, ["tailscale0"], cidrs(...taken)))?.code;
};

test("a gateway without a mesh is not asked about one", async () => {
  expect(await meshFinding({ run: async () => "[]" }, NETWORK, [], [])).toBeNull();
});

test("beside Tailscale's rules all is well", async () => {
  expect(await found({})).toBe("mesh");
});

test("a mesh that is not there, is closed, or asks for the gateway's DNS is told", async () => {
  expect(await found(null)).toBe("mesh_missing");
  expect(await found({ prefixes: [], closed: [cidr("100.64.0.0/10")] })).toBe("mesh_closed");
  expect(await found({}, { taken: ["100.64.0.7/32"] })).toBe("mesh_closed");
  expect(await found({}, { resolvers: ["100.100.100.100"] })).toBe("mesh_dns");
});

test("a mark of another program is told only if it could be the gateway's", async () => {
  const rule = (fwmark: string, fwmask?: string) => [
    { priority: 110, src: "all", fwmark, fwmask, table: "main" },
  ];
  // NetBird's has bits of the gateway's, in another order.
  expect(await found({}, { rules: rule("0x1bd00") as never })).toBe("mesh");
  expect(await found({}, { rules: rule("0x104e") as never })).toBe("mesh_marks");
  expect(await found({}, { rules: rule("0x1000", "0x1000") as never })).toBe("mesh_marks");
});
