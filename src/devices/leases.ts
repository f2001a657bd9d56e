import { parseMac } from "../base/mac.ts";
import { isToldName } from "../base/name.ts";
import type { Host } from "../system/host.ts";

/** The files of the gateway's own DHCP server, of dnsmasq on Debian, and of Pi-hole from version 6 on. */
const LEASES = ["/var/lib/portcullis-dhcp/leases", "/var/lib/misc/dnsmasq.leases", "/etc/pihole/dhcp.leases"];
/** dnsmasq leases at most 1,000 addresses unless told otherwise; a line takes some 100 bytes. */
const MAX_BYTES = 262_144;

/**
 * The names that devices have given dnsmasq, by MAC address. A line is: when the lease ends, MAC address, IPv4
 * address, host name or `*`, client id; those of DHCPv6 have no MAC address.
 */
export async function leasedNames(host: Pick<Host, "read">): Promise<ReadonlyMap<string, string>> {
  const texts = await Promise.all(LEASES.map((path) => host.read(path, MAX_BYTES)));
  const names = new Map<string, string>();
  for (const line of texts.flatMap((text) => text?.split("\n") ?? [])) {
    const [, hardware = "", , name = "*"] = line.split(" ");
    const mac = parseMac(hardware);
    if (mac !== null && name !== "*" && isToldName(name)) names.set(mac, name);
  }
  return names;
}
