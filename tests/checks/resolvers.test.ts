import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { askResolvers, dnsFinding } from "../../src/checks/resolvers.ts";
import { hostNetworkOf } from "../../src/network/host-network.ts";
import { slotOf } from "../../src/network/slot.ts";
import { sessionFor } from "../../src/tunnel/session.ts";
import { cidrs, ip, ips } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { CONFIG, SERVER } from "../servers/example.ts";

const asked = (...rcodes: (number | null)[]) =>
  rcodes.map((rcode, index) => ({ address: ip(`10.64.0.${index + 1}`), rcode, isOutside: false }));

test("a resolver that answers is fine, whatever it says of the name", () => {
  for (const rcode of [0, 3])
    expect(dnsFinding(asked(rcode, null), false)).toMatchObject({
      ...{ result: "ok", found: "the tunnel's resolver 10.64.0.1 answers", advice: null },
    });
});

test("if only another one answers, devices have no names unless the gateway asks for them", () => {
  const advice = "Name 10.64.0.3 first in the DNS line of the server's file.";
  expect(dnsFinding(asked(null, 2, 0), false)).toMatchObject({
    result: "fault",
    found:
      "the tunnel's resolver 10.64.0.1 does not answer, and devices are led to it alone; 10.64.0.3 answers",
    advice,
  });
  expect(dnsFinding(asked(5, null, 0), true)).toMatchObject({
    result: "warning",
    found: "the tunnel's resolver 10.64.0.1 refuses queries (REFUSED); 10.64.0.3 is asked in its place",
    advice,
  });
});

test("if none answers, the first is named with what it says; a tunnel may have none", () => {
  const advice = "Check the DNS address in the server's configuration, or try another server.";
  for (const [rcode, found] of [
    [null, "does not answer"],
    [5, "refuses queries (REFUSED)"],
    [9, "refuses queries (RCODE 9)"],
  ] as const)
    expect(dnsFinding(asked(rcode, null), true)).toMatchObject({
      ...{ result: "fault", found: `the tunnel's resolver 10.64.0.1 ${found}`, advice },
    });
  expect(dnsFinding([], false)).toMatchObject({
    result: "warning",
    found: "the tunnel has no resolver, so queries that are sent to the gateway are not answered",
  });
});

test("a silent resolver that the file's AllowedIPs leave out is not held against the server, and one of the LAN is not asked", async () => {
  const host = new FakeHost();
  host.links.get("lan0")?.addresses.push("192.168.7.1/24");
  const config = {
    interface: { ...CONFIG.interface, dns: ips("192.168.7.9", "10.64.0.1") },
    peer: { ...CONFIG.peer, allowedIps: cidrs("128.0.0.0/1") },
  };
  const endpoint = { address: ip("192.0.2.1"), port: 51820 };
  const session = sessionFor(slotOf(0, "wg"), { ...SERVER, config }, endpoint, null);
  const network = await hostNetworkOf(host, settingsFrom({ interface: "wg" }));
  const found = await askResolvers(session, network, { ask: async () => null });
  expect(found).toEqual([{ address: ip("10.64.0.1"), rcode: null, isOutside: true }]);
  expect(dnsFinding(found, false)).toMatchObject({
    result: "fault",
    found:
      "the tunnel's resolver 10.64.0.1 does not answer, and the AllowedIPs of its configuration leave it out",
    advice:
      "The server may well work: give its configuration a resolver that is in its AllowedIPs, and import it again.",
  });
});
