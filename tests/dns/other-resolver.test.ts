import { expect, test } from "bun:test";
import { hasOtherResolver } from "../../src/dns/other-resolver.ts";
import { ips } from "../fake/address.ts";

const OWN = ips("192.168.7.1", "fd00:7::1");

/** Whether such a line of /proc/net is a resolver in charge. */
function isInCharge(file: string, local: string, state: string): Promise<boolean> {
  const line = `  12: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 0 0 12345 2\n`;
  const read = async (path: string) =>
    path === `/proc/net/${file}` ? `  sl  local_address …\n${line}` : null;
  return hasOtherResolver({ read }, OWN);
}

test("a program that answers at the LAN's address or at any is a resolver in charge, and no other is", async () => {
  expect(await isInCharge("udp", "00000000:0035", "07")).toBe(true);
  expect(await isInCharge("udp", "0107A8C0:0035", "07")).toBe(true);
  expect(await isInCharge("tcp", "0107A8C0:0035", "0A")).toBe(true);
  expect(await isInCharge("udp6", "00000000000000000000000000000000:0035", "07")).toBe(true);
  // The stub of systemd-resolved, another port, and a connection to port 53 of another.
  expect(await isInCharge("udp", "3500007F:0035", "07")).toBe(false);
  expect(await isInCharge("udp", "00000000:0036", "07")).toBe(false);
  expect(await isInCharge("tcp", "0107A8C0:0035", "01")).toBe(false);
});

test("an IPv6 address is read as the kernel writes it", async () => {
  // fd00:7::1, in words of 32 bits.
  expect(await isInCharge("udp6", "070000FD000000000000000001000000:0035", "07")).toBe(true);
  expect(await isInCharge("udp6", "070000FD000000000000000002000000:0035", "07")).toBe(false);
});
