import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { settingsFrom } from "../../src/base/settings.ts";
import { DHCP_UNIT } from "../../src/dhcp/files.ts";
import { forwardersOn } from "../../src/install/forwarders.ts";
import { filesByHand, isOnLan, machineOf } from "../../src/install/machine.ts";
import { CLOCK_UNIT, KILL_SWITCH_UNIT, SERVICE_UNIT } from "../../src/install/paths.ts";
import { unitsFor } from "../../src/install/units.ts";
import { droppingChains } from "../../src/killswitch/table.ts";
import { countersFor } from "../../src/network/counters.ts";
import { BY_HAND, PACKAGED } from "../../src/system/layout.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { ALL_BY_HAND, ONE_CABLE } from "./example.ts";

test("an SSH session is kept only if it comes from the LAN or from the machine itself", () => {
  const stays = ["192.168.7.20", "fd00:7::20", "fe80::1%eth0", "127.0.0.1", "::1"];
  const ends = ["192.168.8.20", "203.0.113.5", "2001:db8::1", "fd00:8::1", "fe80::1%eth1", "fe80::1", ""];
  expect(stays.filter((client) => !isOnLan(client, ONE_CABLE.network))).toEqual([]);
  expect(ends.filter((client) => isOnLan(client, ONE_CABLE.network))).toEqual([]);
});

needsNamespaces.describe("on a machine", () => {
  const name = `pc-machine-${process.pid}`;
  const host = new NamespaceHost(name);
  beforeAll(() => new LinuxHost().run(["ip", "netns", "add", name]));
  afterAll(() => new LinuxHost().run(["ip", "netns", "del", name]));

  test("other programs' chains that drop forwarded or incoming packets are found, and no other chains", async () => {
    const chain = (family: string, hook: string, policy: string) =>
      `add table ${family}; add chain ${family} ${hook} { type filter hook ${hook} priority 0; policy ${policy}; }\n`;
    expect(await droppingChains(host)).toEqual([]);
    const text = [
      chain("ip filter", "forward", "drop"),
      chain("ip6 filter", "input", "accept"),
      chain("ip filter", "output", "drop"),
      chain("inet portcullis", "forward", "drop"),
    ];
    await host.run(["nft", "-f", "-"], { stdin: text.join("") });
    expect(await droppingChains(host)).toEqual(["ip filter forward"]);
  });

  test("others that forward packets are found; the gateway's tunnel and Debian's empty chain do not count", async () => {
    const found = () => forwardersOn(host, "portcullis");
    const load = (text: string) => host.run(["nft", "-f", "-"], { stdin: text });
    const ip = (...words: string[]) => host.run(["ip", ...words]);
    await load("flush ruleset; add table inet filter; add table inet portcullis");
    await load("add chain inet filter forward { type filter hook forward priority 0; }");
    await load("add chain inet portcullis forward { type filter hook forward priority 0; }");
    await load("add rule inet portcullis forward accept");
    const links = { lans: ["eth7"], remote: null, meshes: [], uplink: null, networks: [] };
    await load(countersFor(links));
    await ip("link", "add", "portcullis0", "type", "veth", "peer", "name", "eth7");
    expect(await found()).toEqual([]);
    await load("add rule inet filter forward accept");
    await load("add table ip nat; add chain ip nat post { type nat hook postrouting priority 100; }");
    await load("add rule ip nat post masquerade");
    await ip("link", "add", "docker0", "type", "veth", "peer", "name", "eth8");
    expect(await found()).toEqual(["docker0", "inet filter forward", "ip nat post"]);
  });

  test("other programs' rules at the gateway's priorities are found, and the gateway's own do not count", async () => {
    const foreign = async () => (await machineOf(host, settingsFrom({}))).foreignRules;
    const add = (priority: string, ...words: string[]) =>
      host.run(["ip", "rule", "add", "priority", priority, ...words]);
    await add("50", "to", "10.9.0.0/16", "lookup", "main");
    expect(await foreign()).toEqual(["50 to 10.9.0.0/16 lookup main"]);
    // Those of version 0.1 are the gateway's too, but not at the numbers of today.
    await add("100", "fwmark", "0x504c", "lookup", "main");
    await add("105", "lookup", "20556");
    expect(await foreign()).toEqual(["50 to 10.9.0.0/16 lookup main"]);
    await add("80", "lookup", "20556");
    expect(await foreign()).toEqual([]);
  });
});

test("an installation by hand is known by its files, but not by units of the package that a person has edited", () => {
  const root = mkdtempSync(join(tmpdir(), "portcullis-by-hand-"));
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  expect(filesByHand(root)).toEqual({ units: [], programs: [] });
  // What a copy leaves that a power cut or a signal ends.
  put(`${BY_HAND.program}.new`, "");
  expect(filesByHand(root)).toEqual({ units: [], programs: ALL_BY_HAND.programs });
  rmSync(join(root, `${BY_HAND.program}.new`));
  for (const [name, text] of Object.entries(unitsFor(BY_HAND.program))) put(join(BY_HAND.units, name), text);
  put(BY_HAND.program, "");
  expect(filesByHand(root)).toEqual(ALL_BY_HAND);
  for (const name of [SERVICE_UNIT, DHCP_UNIT, CLOCK_UNIT])
    put(join(BY_HAND.units, name), unitsFor(PACKAGED.program)[name] ?? "");
  expect(filesByHand(root).units).toEqual([join(BY_HAND.units, KILL_SWITCH_UNIT)]);
  rmSync(root, { recursive: true });
});
