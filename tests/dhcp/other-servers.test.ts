import { expect, test } from "bun:test";
import { assertAlone, assertPortFree } from "../../src/dhcp/other-servers.ts";
import { hostWith } from "./other-server.ts";

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
