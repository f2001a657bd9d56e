import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET, VPN_PORT } from "../../src/sandbox/topology.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";

setDefaultTimeout(240_000);

const PORT = 53;
const PAGE = `http://${INTERNET.host4}/ip`;

/** Providers offer this port for networks that block others. */
test.each([1, 2] as const)(
  "a VPN server on the port of DNS is not taken for a resolver, with %i cards",
  async (cards) => {
    const lab = await createLab({ cards });
    try {
      const { vpn1, client } = lab.namespaces;
      const redirect = `add table ip port53; add chain ip port53 prerouting { type nat hook prerouting priority dstnat; }; add rule ip port53 prerouting iifname "wan0" udp dport ${PORT} redirect to :${VPN_PORT}`;
      expect((await lab.exec(vpn1, ["nft", redirect])).stderr).toBe("");
      const gateway = await lab.startGateway({ flags: ["--managed-list", listOf(lab)] });
      const sniffer = await Sniffer.start(lab.namespaces.router, "lan0", {
        endpoints: [{ address: lab.sandbox.servers[0].ipv4, port: PORT }],
        direction: "in",
      });
      expect((await gateway.api("POST", "/api/connect", { server: "on-port-53" })).status).toBe(200);
      await until(async () => (await lab.fetchFrom(client, PAGE)) !== null);
      const traffic = await lab.traffic(client, { kinds: ["udp"] });
      await traffic.sends(200);
      expect((await traffic.stop()).udp?.lost).toEqual([]);
      expect((await gateway.api("GET", "/api/status")).body.connected).toBe(true);
      expect((await sniffer.stop()).leaks).toEqual([]);
    } finally {
      await lab.close();
    }
  },
);

function listOf({ sandbox }: Lab): string {
  const [server] = sandbox.servers;
  const entry = {
    ...{ hostname: "on-port-53", ipv4: server.ipv4, port: PORT, public_key: server.publicKey },
    ...{ country: "Sweden", city: "Gothenburg" },
  };
  const path = join(sandbox.directory, "port-53.json");
  writeFileSync(path, JSON.stringify({ servers: [entry] }));
  return path;
}
