import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET, LAN, ROUTER } from "../../src/sandbox/topology.ts";
import { inject } from "../rig/tools/injector.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";
import { packetBytes, TCP, tcpBytes } from "../rig/tools/packet.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

setDefaultTimeout(120_000);

const ACK = 0x10;
const RESETS = "tcp[tcpflags] & tcp-rst != 0 or (ip6 and ip6[6] == 6 and ip6[53] & 4 != 0)";

let lab: Lab;
beforeAll(async () => {
  lab = await createLab({ cards: 1 });
  const service = await lab.startGateway();
  expect((await service.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
});
afterAll(() => lab.close());

/** The tunnel's own addresses. */
async function inside(): Promise<string[]> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "-j", "address", "show"]);
  const links: { ifname: string; addr_info: { local: string }[] }[] = JSON.parse(stdout);
  return links
    .filter(({ ifname }) => ifname.startsWith(lab.sandbox.interface))
    .flatMap(({ addr_info }) => addr_info.map(({ local }) => local))
    .filter((address) => !address.startsWith("fe80"));
}

test("a server that sends in the name of a host of the LAN gets nothing sent there: no reset leaves in clear", async () => {
  const { client, router, vpn1 } = lab.namespaces;
  const link = lab.sandbox.serverInterfaces.vpn1;
  const taps = [
    await Wiretap.start(vpn1, link, RESETS),
    await Wiretap.start(client, "lan0", RESETS),
    await Wiretap.start(router, "lan0", RESETS),
  ];
  const names = [
    [INTERNET.host4, LAN.client4, ROUTER.lan[1].v4],
    [INTERNET.host6, LAN.client6, ROUTER.lan[1].v6],
  ].flat();
  for (const to of await inside())
    for (const from of names.filter((each) => each.includes(":") === to.includes(":"))) {
      const ports = { from, to, sourcePort: 443, targetPort: 45_000, payload: "" };
      await inject(vpn1, link, [packetBytes({ from, to }, { protocol: TCP, bytes: tcpBytes(ports, ACK) })]);
    }
  await Bun.sleep(1_000);
  const [tunnel, lan, uplink] = await Promise.all(taps.map((tap) => tap.stop()));
  // Positive control: hosts of the internet learn that the connection has ended.
  expect(tunnel?.length).toBe(2);
  expect({ lan, uplink }).toEqual({ lan: [], uplink: [] });
});
