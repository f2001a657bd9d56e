/**
 * Names at which well-known resolvers answer by HTTPS, with all names below them. What asks there does not ask the
 * gateway. Their own pages are all that they serve besides.
 */
const DOH_NAMES: ReadonlySet<string> = new Set([
  ...["dns.google", "dns64.dns.google", "8888.google"],
  ...["cloudflare-dns.com", "one.one.one.one", "1dot1dot1dot1.cloudflare-dns.com"],
  ...["dns.quad9.net", "dns9.quad9.net", "dns10.quad9.net", "dns11.quad9.net", "dns12.quad9.net"],
  ...["doh.opendns.com", "doh.familyshield.opendns.com", "dns.umbrella.com", "doh.umbrella.com"],
  ...["dns.nextdns.io", "dns1.nextdns.io", "dns2.nextdns.io", "anycast.dns.nextdns.io"],
  ...["dns.adguard.com", "dns-family.adguard.com", "dns-unfiltered.adguard.com"],
  ...["dns.adguard-dns.com", "family.adguard-dns.com", "unfiltered.adguard-dns.com", "d.adguard-dns.com"],
  ...["dns.controld.com", "freedns.controld.com", "doh.cleanbrowsing.org", "dns.mullvad.net"],
  ...["doh.dns.sb", "dns.sb", "dns0.eu", "zero.dns0.eu", "kids.dns0.eu", "open.dns0.eu"],
  ...["doh.libredns.gr", "doh.applied-privacy.net", "dns.digitale-gesellschaft.ch", "dnsforge.de"],
  ...["dns.switch.ch", "odvr.nic.cz", "doh.ffmuc.net", "dns.njal.la", "wikimedia-dns.org", "ordns.he.net"],
  ...["dns.alidns.com", "doh.pub", "dns.pub", "doh.360.cn", "public.dns.iij.jp", "dns.twnic.tw"],
  ...["doh.xfinity.com", "doh.dns.apple.com", "doh.tiar.app", "doh.tiarap.org", "dns.aa.net.uk"],
  // Apple's Private Relay asks and browses elsewhere; without these names it says so, and is off on this network.
  ...["mask.icloud.com", "mask-h2.icloud.com"],
]);

/** Whether the name, or one above it, is such a resolver's. */
export function isDohName(name: string): boolean {
  for (let at = 0; ; ) {
    if (DOH_NAMES.has(at === 0 ? name : name.slice(at))) return true;
    const dot = name.indexOf(".", at);
    if (dot < 0) return false;
    at = dot + 1;
  }
}
