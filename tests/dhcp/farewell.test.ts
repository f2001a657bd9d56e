import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { retireAddresses, withdrawPrefixes } from "../../src/dhcp/withdraw-prefixes.ts";
import type { Heard } from "../../src/system/host.ts";
import { cidr, cidrs } from "../fake/address.ts";
import { Listening } from "../fake/listening.ts";

const [ULA, OLD] = ["fd12:3456:789a::/48", "fdff:1:2::/48"];
const [NOW, BEFORE] = [cidr("fd12:3456:789a:9808::1/64"), cidr("fdff:1:2:9808::1/64")];
/** Hop limit 64, high preference, and the router's lifetime; the MAC address; a route to each half. */
const header = (lifetime: string) =>
  `40 08 ${lifetime} 0000000000000000 0101020000000001` +
  ` 18020108 0000${lifetime} 0000000000000000 18020108 0000${lifetime} 8000000000000000`;
/** The prefix with lifetimes of 0, and the resolver. */
const END =
  "030440c0 00000000 00000000 00000000 fdff0001000298080000000000000000 " +
  "19030000 00000000 fdff0001000298080000000000000001";

class Machine {
  readonly listening = new Listening();
  readonly commands: string[] = [];
  now = 0;
  readonly sentAt: string[] = [];

  constructor(
    private readonly own: readonly string[],
    private readonly isUp = true,
  ) {
    this.listening.onSent = (link) => this.sentAt.push(`${this.now / 1_000} ${link}`);
  }

  listenOn = async (link: string, heard: Heard) => this.listening.open(link, heard);
  sleep = async (ms: number) => {
    this.now += ms;
  };
  run = async (argv: readonly string[]) => {
    const command = argv.join(" ");
    if (command.includes("scope link"))
      return JSON.stringify(this.isUp ? [{ addr_info: [{ local: "fe80::1" }] }] : []);
    if (!command.startsWith("ip -j")) this.commands.push(command);
    const addr_info = this.own.map((local) => ({ local: local.split("/")[0], prefixlen: 64 }));
    return JSON.stringify([{ ifname: "eth1", addr_info }]);
  };

  /** The messages after the IPv6 header and the checksum, each once. */
  get said(): string[] {
    expect(this.listening.count).toBe(0);
    return [...new Set(this.listening.sent.map(({ packet }) => packet.subarray(44).toHex()))];
  }
}

const packed = (...parts: string[]) => parts.join("").replaceAll(" ", "");
const LANS = [{ interface: "eth1", prefixes: cidrs("192.168.7.0/24", "fe80::/10") }];
const retire = (machine: Machine, given: Record<string, string>) =>
  retireAddresses(machine, { lans: LANS, ipv6: "on" }, settingsFrom(given));

test("the last advertisements end the router, its routes, its prefix and its resolver: three, at the pace of the RFC", async () => {
  const machine = new Machine([]);
  await withdrawPrefixes(machine, [{ interface: "eth1", prefix: BEFORE }]);
  expect(machine.said).toEqual([packed(header("0000"), END)]);
  expect(machine.sentAt).toEqual(["0 eth1", "3 eth1", "6 eth1"]);
});

test("a link that is gone or has no address delays nothing, and the others are told", async () => {
  const machine = new Machine([]);
  machine.listening.closed.add("gone0");
  await withdrawPrefixes(machine, [
    { interface: "gone0", prefix: NOW },
    { interface: "eth1", prefix: BEFORE },
  ]);
  expect(machine.sentAt).toEqual(["0 eth1", "3 eth1", "6 eth1"]);
  const down = new Machine([], false);
  await withdrawPrefixes(down, [{ interface: "eth1", prefix: BEFORE }]);
  expect([down.said, down.now]).toEqual([[], 0]);
});

test("without DHCP now, devices are told, and the address goes", async () => {
  const machine = new Machine([BEFORE]);
  await retire(machine, { dhcp: "off", ula: OLD });
  expect(machine.said).toEqual([packed(header("0000"), END)]);
  expect(machine.commands).toEqual([`ip -6 address del ${BEFORE} dev eth1`]);
});

test("with another prefix now, the router stays and the former prefix ends", async () => {
  const machine = new Machine([NOW, BEFORE]);
  await retire(machine, { dhcp: "on", ula: ULA });
  expect(machine.said).toEqual([packed(header("2328"), END)]);
  expect(machine.commands).toEqual([`ip -6 address del ${BEFORE} dev eth1`]);
});

test("the address of the settings stays, also on a link that is not served at the moment", async () => {
  for (const dhcp of ["on", "10.5.0.10-10.5.0.99"]) {
    const machine = new Machine([NOW]);
    await retire(machine, { dhcp, ula: ULA });
    expect([machine.said, machine.commands]).toEqual([[], []]);
  }
});
