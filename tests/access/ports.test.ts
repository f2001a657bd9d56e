import { expect, test } from "bun:test";
import { Ports } from "../../src/access/ports.ts";
import { PortsRequest } from "../../src/access/schema.ts";
import { checkerOf } from "../../src/base/checker.ts";
import { UPLINK_FILE } from "../../src/network/ports.ts";
import { SETUP_NOTES } from "../../src/system/setup.ts";
import { FakeHost } from "../fake/host.ts";
import { newLink } from "../fake/link.ts";

const ONE = { uplink: "eth0", lan: ["eth0"], dhcp: null };
const TWO = { uplink: "eth0", lan: ["eth1"], dhcp: [] };

/** A flashed gateway with three ports, of which the last has no cable. */
function flashed(settings: typeof ONE | typeof TWO, https = 443) {
  const host = new FakeHost();
  host.files.set(UPLINK_FILE, "");
  const eth1 = settings === ONE ? [] : ["192.168.73.1/24"];
  host.links.set(
    "eth0",
    newLink({ up: true, addresses: ["192.168.88.30/24", "fe80::1/64"], isLeased: true }),
  );
  host.links.set("eth1", newLink({ up: true, addresses: eth1 }));
  host.links.set("eth2", newLink({ up: true, carrier: false }));
  const closed: string[] = [];
  const hasPage = (link: string) => !closed.includes(link);
  return {
    ...{ host, closed },
    ports: new Ports({ host, hasPage, settings: { ...settings, https }, hostname: "portcullis" }),
  };
}

const LOCAL = "https://portcullis.local/";
const BEFORE_ONE = { ...ONE, dhcp: false, pages: [LOCAL, "https://192.168.88.30/"] };
const BEFORE_TWO = { ...TWO, dhcp: true, pages: [LOCAL, "https://192.168.73.1/"] };

test("the ports are shown with their cables and roles, and why the last change went back", async () => {
  const { host, ports } = flashed(TWO);
  host.files.set(SETUP_NOTES.portsFailed, "an address for eth2 did not come\n");
  expect(await ports.shown()).toEqual({
    ports: [
      { name: "eth0", plugged: true },
      { name: "eth1", plugged: true },
      { name: "eth2", plugged: false },
    ],
    ...BEFORE_TWO,
    ...{ changing: false, failed: "an address for eth2 did not come" },
  });
});

test.each([
  // A second cable.
  [ONE, "eth0", ["eth1"], true, [LOCAL, "https://192.168.73.1/"], true],
  [ONE, "eth0", ["eth1", "eth2"], true, [LOCAL, "https://192.168.73.1/", "https://192.168.74.1/"], true],
  // The router's address is known where it is already, and nowhere else.
  [ONE, "eth0", ["eth0"], false, [LOCAL, "https://192.168.88.30/"], false],
  [ONE, "eth1", ["eth1"], false, [LOCAL], true],
  [TWO, "eth0", ["eth0"], false, [LOCAL, "https://192.168.88.30/"], true],
  // Cables that change places: the address that the gateway has given eth1 is free again.
  [TWO, "eth1", ["eth0"], true, [LOCAL, "https://192.168.73.1/"], true],
  [TWO, "eth0", ["eth2"], true, [LOCAL, "https://192.168.73.1/"], true],
  [TWO, "eth0", ["eth1"], true, [LOCAL, "https://192.168.73.1/"], true],
])("from %p to the uplink %s and the LAN %p", async (settings, uplink, lan, dhcp, pages, cut) => {
  expect(await flashed(settings).ports.plan({ uplink, lan })).toEqual({
    before: settings === ONE ? BEFORE_ONE : BEFORE_TWO,
    after: { uplink, lan, dhcp, pages },
    cut,
  });
});

test.each([
  ["eth0", ["eth1"]],
  ["eth1", ["eth0"]],
])(
  "with the uplink %s, the LAN gets another network than the router's, which may be the LAN's by now",
  async (uplink, lan) => {
    const { host, ports } = flashed(TWO);
    host.links.set("eth0", newLink({ up: true, addresses: ["192.168.73.30/24"], isLeased: true }));
    // Nor that of a port to which root has given an address.
    host.links.set("eth2", newLink({ up: true, addresses: ["192.168.74.9/24"] }));
    const { after } = await ports.plan({ uplink, lan });
    expect(after.pages).toEqual([LOCAL, "https://192.168.75.1/"]);
  },
);

test("nobody makes ports the LAN from which nobody may use the page", async () => {
  const { closed, ports } = flashed(TWO);
  closed.push("eth1", "eth2");
  for (const lan of [["eth2"], ["eth1", "eth2"]])
    await expect(ports.plan({ uplink: "eth0", lan })).rejects.toThrow(
      `no device at ${lan.join(", ")} may use the page`,
    );
  for (const [uplink, ...lan] of [
    ["eth0", "eth0"],
    ["eth1", "eth0", "eth2"],
  ] as const)
    expect((await ports.plan({ uplink, lan })).after).toMatchObject({ uplink, lan });
});

test("the page's addresses have the port of HTTPS unless it is the usual one", async () => {
  const { after } = await flashed(ONE, 5443).ports.plan(TWO);
  expect(after.pages).toEqual(["https://portcullis.local:5443/", "https://192.168.73.1:5443/"]);
});

test("a machine that was set up in a terminal has no such ports, and is told the command", async () => {
  const { host, ports } = flashed(TWO);
  host.files.delete(UPLINK_FILE);
  const told = "only a flashed gateway has such ports; type: sudo portcullis setup --lan … --uplink …";
  expect(await ports.shown()).toMatchObject({ ports: [] });
  await expect(ports.plan(TWO)).rejects.toThrow(told);
});

test("ports that are not there, or are both sides among others, are refused, as is a second change at once", async () => {
  const { host, ports } = flashed(TWO);
  for (const [uplink, lan, reason] of [
    ["eth3", ["eth0"], "there is no network port eth3; there are: eth0, eth1, eth2"],
    ["eth0", ["eth1", "eth1"], "eth1 is named twice"],
    ["eth0", ["eth1", "eth0"], "eth0 is the uplink: name other ports for the LAN"],
  ] as const)
    await expect(ports.plan({ uplink, lan: [...lan] })).rejects.toMatchObject({
      code: "bad_request",
      message: expect.stringContaining(reason),
    });
  host.files.set(SETUP_NOTES.portsBefore, "{}");
  await expect(ports.plan(TWO)).rejects.toThrow("another change is under way");
  expect(await ports.shown()).toMatchObject({ changing: true });
});

test.each([
  {},
  { uplink: "eth0" },
  { uplink: "eth0", lan: [] },
  { uplink: "--yes", lan: ["eth1"] },
  { uplink: "eth0", lan: ["eth1; reboot"] },
  { uplink: "eth0", lan: ["wlan0"] },
  { uplink: "eth0", lan: Array(9).fill("eth1") },
  { uplink: "eth0", lan: "eth1" },
  { uplink: "eth0", lan: ["eth1"], dhcp: "off" },
])("a request of %p is none", (body) => {
  expect(checkerOf(PortsRequest).Check(body)).toBe(false);
});
