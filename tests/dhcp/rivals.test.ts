import { expect, test } from "bun:test";
import { assertAlone, assertPortFree, prepareDhcp } from "../../src/dhcp/rivals.ts";
import { settingsFrom } from "../../src/settings.ts";
import { FakeHost } from "../fake/host.ts";
import { offerPacket } from "../network/offer.ts";

/** A machine whose link has another DHCP server, or none. */
function hostWith(server: string | null): FakeHost {
  const host = new FakeHost();
  host.listening.onSent = (link, packet) => {
    if (server === null) return;
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    const offer = offerPacket({ id, server, address: "192.168.7.30", options: {} });
    host.listening.hear(link, "dhcp replies", { from: "02:00:00:00:00:fe", packet: offer });
  };
  return host;
}

test("another DHCP server is named, with what to do; without one all is well", async () => {
  expect(assertAlone(hostWith("192.168.7.1"), ["lan0"])).rejects.toThrow(
    "another DHCP server answers: 192.168.7.1 on lan0; devices that ask it would not use the gateway. Switch DHCP off there, usually in the settings of the home router",
  );
  const quiet = hostWith(null);
  await assertAlone(quiet, ["lan0", "lan1"]);
  expect([...new Set(quiet.listening.sent.map(({ link }) => link))]).toEqual(["lan0", "lan1"]);
});

test("a program of this machine that serves DHCP is named", async () => {
  const sockets = (text: string) => ({ run: async () => text });
  await assertPortFree(sockets(""));
  expect(
    assertPortFree(sockets('UNCONN 0 0 0.0.0.0%eth0:67 0.0.0.0:* users:(("pihole-FTL",pid=612,fd=4))\n')),
  ).rejects.toThrow(
    "--dhcp: pihole-FTL serves DHCP on this machine already; end it first, or leave DHCP to it and install without --dhcp",
  );
});

test("without an address or a carrier on the LAN it is not ready, and says so", async () => {
  const host = hostWith(null);
  const lan0 = {
    ...{ ifname: "lan0", mtu: 1500, link_type: "ether", flags: ["UP", "NO-CARRIER"] },
    addr_info: [{ local: "192.168.7.2", prefixlen: 24 }],
  };
  host.run = async (argv) => (argv.includes("address") ? JSON.stringify([lan0]) : "[]");
  const settings = (lan: string) => settingsFrom({ dhcp: "on", lan, uplink: "lan0" });
  const message = "no LAN interface has both an address and a carrier yet";
  await expect(prepareDhcp(host, settings("lan7"))).rejects.toThrow(message);
  await expect(prepareDhcp(host, settings("lan0"))).rejects.toThrow(message);
  lan0.flags = ["UP", "LOWER_UP"];
  await prepareDhcp(host, settings("lan0"));
  expect(host.listening.sent.map(({ link }) => link)).toEqual(["lan0", "lan0"]);
});

test("on an interface without IPv6 it serves IPv4 all the same", async () => {
  const host = hostWith(null);
  const lan0 = {
    ...{ ifname: "lan0", mtu: 1500, link_type: "ether", flags: ["UP", "LOWER_UP"] },
    addr_info: [{ local: "192.168.7.2", prefixlen: 24 }],
  };
  host.run = async (argv) => {
    if (argv.includes("replace")) throw new Error("IPv6 is disabled on this device");
    return argv.includes("address") ? JSON.stringify([lan0]) : "[]";
  };
  const warnings: string[] = [];
  const settings = settingsFrom({ dhcp: "on", ula: "fd12:3456:789a::/48", lan: "lan0", uplink: "lan0" });
  await prepareDhcp(host, settings, { warn: (message) => warnings.push(message) });
  expect(warnings).toEqual(["the LAN has no IPv6 router: IPv6 is disabled on this device"]);
});
