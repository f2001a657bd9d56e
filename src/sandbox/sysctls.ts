import type { Home } from "./cables.ts";

/** Sysctls that are set before the links exist, so that links start with them. */
export function sysctlsOf({
  namespaces: ns,
  computers,
  phone,
}: Home): [namespace: string, settings: string[]][] {
  // Duplicate address detection keeps an IPv6 address unusable for its first second.
  const quick = "net.ipv6.conf.default.accept_dad=0";
  const forward = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
  return [
    ...[...computers.map(({ namespace }) => namespace), ...(phone === null ? [] : [phone])].map(
      (namespace): [string, string[]] => [namespace, [quick]],
    ),
    [ns.gateway, [quick, ...forward]],
    [ns.router, [quick, ...forward]],
    [ns.internet, [quick, "net.ipv4.ip_nonlocal_bind=1", "net.ipv6.ip_nonlocal_bind=1"]],
    [ns.vpn1, [quick, ...forward]],
    [ns.vpn2, [quick, ...forward]],
    [ns.switch, ["net.ipv6.conf.default.disable_ipv6=1"]],
  ];
}
