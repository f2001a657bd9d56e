import { expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { createLab } from "../rig/tools/lab.ts";

setDefaultTimeout(120_000);

test("on a machine with IPv6 turned off a server with IPv6 addresses serves IPv4, also after a restart", async () => {
  const lab = await createLab({ cards: 2 });
  try {
    const off = ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"];
    await lab.exec(lab.namespaces.gateway, off);
    const gateway = await lab.startGateway();
    const page = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`);
    expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).body).toEqual({
      success: true,
    });
    expect(await page()).toContain(VPN.vpn1.v4);
    await gateway.restart();
    expect((await gateway.api("GET", "/api/status")).body).toMatchObject({
      connected: true,
      server: "box-vpn-1",
    });
    expect(await page()).toContain(VPN.vpn1.v4);
  } finally {
    await lab.close();
  }
});
