import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settingsFrom } from "../../src/base/settings.ts";
import { dnsmasqConfig } from "../../src/dhcp/config.ts";
import { awaitDhcp, prepareDhcp } from "../../src/dhcp/ready.ts";
import { cidr, ip } from "../fake/address.ts";
import type { FakeHost } from "../fake/host.ts";
import { hostWith } from "./other-server.ts";

const RIVAL =
  "another DHCP server answers: 192.168.7.1 on lan0; devices that ask it would not use the gateway. Switch DHCP off there, usually in the settings of the home router";
const NO_CABLE = "no LAN interface has both an address and a carrier; connect the LAN's cable";

let folder: string;
let lan0: { ifname: string; mtu: number; link_type: string; flags: string[]; addr_info: object[] };
let systemd: { SystemState: string; NRestarts: string };
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-dhcp-"));
  systemd = { SystemState: "running", NRestarts: "1" };
  warnings = [];
  lan0 = {
    ...{ ifname: "lan0", mtu: 1500, link_type: "ether", flags: ["UP", "LOWER_UP"] },
    addr_info: [{ local: "192.168.7.2", prefixlen: 24 }],
  };
});
afterEach(() => rmSync(folder, { recursive: true }));

const files = () => ({
  config: join(folder, "dhcp.conf"),
  leases: "/var/lib/portcullis-dhcp/leases",
  hosts: null,
});
const configFor = (network: string) =>
  dnsmasqConfig(
    [
      {
        interface: "lan0",
        prefix: cidr(`${network}.0/24`),
        range: { from: ip(`${network}.100`), to: ip(`${network}.249`) },
        ula: null,
      },
    ],
    files(),
  );
const configNow = () => readFileSync(files().config, "utf8");

/** A machine whose LAN is lan0, with an installed configuration. */
function machine(host: FakeHost, given: { dhcp?: string; ula?: string; lan?: string } = {}) {
  writeFileSync(files().config, configFor("192.168.7"));
  host.read = async (path) => (path === files().config ? configNow() : "0\n");
  host.run = async (argv) => {
    const asked = /--property=(\w+)/.exec(argv.join(" "))?.[1];
    if (asked !== undefined) return `${systemd[asked as keyof typeof systemd]}\n`;
    if (argv.includes("replace")) throw new Error("IPv6 is disabled on this device");
    return argv.includes("address") ? JSON.stringify([lan0]) : "[]";
  };
  const settings = settingsFrom({ dhcp: "on", lan: "lan0", uplink: "lan0", ...given });
  return { host, settings, files: files(), log: { warn: (text: string) => void warnings.push(text) } };
}

test("without an address or a carrier on the LAN it is not ready, and says so", async () => {
  lan0.flags = ["UP", "NO-CARRIER"];
  const host = hostWith(null);
  await expect(prepareDhcp(machine(host))).rejects.toThrow(NO_CABLE);
  expect(host.listening.sent).toEqual([]);
  lan0.flags = ["UP", "LOWER_UP"];
  await prepareDhcp(machine(host));
  expect(host.listening.sent.map(({ link }) => link)).toEqual(["lan0", "lan0"]);
  expect(configNow()).toBe(configFor("192.168.7"));
  lan0.addr_info = [];
  await expect(prepareDhcp(machine(host))).rejects.toThrow(
    "--dhcp: lan0 has no private IPv4 address; connect its cable, or give it a fixed address first",
  );
  expect(prepareDhcp(machine(host, { dhcp: "off" }))).rejects.toThrow(
    "--dhcp is off; to remove the DHCP server: sudo portcullis install",
  );
});

test("on an interface without IPv6 it serves IPv4 all the same", async () => {
  await prepareDhcp(machine(hostWith(null), { ula: "fd12:3456:789a::/48" }));
  expect(warnings).toEqual(["the LAN has no IPv6 router: IPv6 is disabled on this device"]);
});

test("on a LAN with another prefix it writes a configuration for that, unless another server answers", async () => {
  lan0.addr_info = [{ local: "192.168.9.2", prefixlen: 24 }];
  await expect(prepareDhcp(machine(hostWith("192.168.7.1")))).rejects.toThrow(RIVAL);
  expect(configNow()).toBe(configFor("192.168.7"));
  await prepareDhcp(machine(hostWith(null)));
  expect(configNow()).toBe(configFor("192.168.9"));
});

/** What the log and systemd have, by the time, in seconds, until `until` lets it start. */
async function waited(until: (seconds: number, host: FakeHost) => void) {
  const host = hostWith("192.168.7.1");
  const told: unknown[] = [];
  host.onEvent = (event) => {
    if (event === "sleep") until(host.monotonic() / 1_000 - start, host);
  };
  const start = host.monotonic() / 1_000;
  const deps = machine(host);
  const end = await awaitDhcp(deps, async (reason) => void told.push(reason)).then(
    () => "starts",
    (error: Error) => error.message,
  );
  return { told, end, seconds: Math.round(host.monotonic() / 1_000 - start) };
}

test("while another server answers it waits, and says why once, and again when the reason changes", async () => {
  const { told, end } = await waited((seconds, host) => {
    if (seconds > 200) lan0.flags = ["UP", "NO-CARRIER"];
    if (seconds > 400) lan0.flags = ["UP", "LOWER_UP"];
    if (seconds > 3_600) host.listening.onSent = () => {};
  });
  expect(told).toEqual([RIVAL, NO_CABLE, RIVAL, null]);
  expect(warnings).toEqual([RIVAL, NO_CABLE, RIVAL].map((reason) => `DHCP waits: ${reason}`));
  expect(end).toBe("starts");
});

test("it starts when nothing is in its way", async () => {
  lan0.flags = ["UP", "NO-CARRIER"];
  const host = hostWith(null);
  const told: unknown[] = [];
  host.onEvent = (event) => {
    if (event === "sleep") lan0.flags = ["UP", "LOWER_UP"];
  };
  await awaitDhcp(machine(host), async (reason) => void told.push(reason));
  expect(told).toEqual([NO_CABLE, null]);
});

test.each([
  ["the machine boots, so that the boot ends", { SystemState: "starting", NRestarts: "2" }],
  ["a person has started it", { SystemState: "running", NRestarts: "0" }],
])("it fails at once while %s; systemd tries again", async (_, state) => {
  systemd = state;
  const { told, end, seconds } = await waited(() => {});
  expect({ told, end, seconds }).toEqual({ told: [RIVAL], end: RIVAL, seconds: 5 });
  expect(warnings).toEqual([]);
});
