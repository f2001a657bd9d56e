/**
 * What one device, and all together, can have of the gateway's own interface. The kernel refuses the rest before the service
 * hears of it: each connection costs it memory while its answer is not read, and a turn of its event loop if it asks for something.
 */
export interface OwnPorts {
  /** Those of HTTP and HTTPS. */
  ports: readonly number[];
  /** The interface from which remote devices come; null while none may. */
  remote: string | null;
}

/** A browser has six for pages, and one for each tab. A client gets a hundred sockets at `/ws`. */
const MAX_OF_DEVICE = 128;
/** This many are each device's own, for as long as there are fewer devices than a home has. */
const FEW = 16;
/** What all devices have beyond these, at one port. */
const MAX_BEYOND_FEW = 512;
/** At one port. */
const MAX_OF_PORT = 1_024;
/** Each costs a handshake of TLS. */
const STARTS = { perSecond: 50, burst: 200 };
const MAX_DEVICES = 65_535;
const MAX_REMOTE = 256;
const MAX_PORTS = 16;
const REMEMBERED_SECONDS = 60;

/** What a table needs for that in text for `nft -f -`; it has the chains `refuse` and `refuse_remote`. */
export function ownPortsPart({ ports, remote }: OwnPorts): string {
  const { perSecond, burst } = STARTS;
  const counted = (key: string, most: number) => `{ ${key} ct count over ${most} }`;
  const remoteRules = (["ip", "ip6"] as const)
    .map(
      (family) =>
        `    iifname "${remote}" add @own_${family} ${counted(`${family} saddr`, MAX_OF_DEVICE)} goto refuse_remote\n`,
    )
    .join("");
  return `${[
    ["own_device", "ether_addr", MAX_DEVICES],
    ["own_few", "ether_addr", MAX_DEVICES],
    ["own_beyond", "inet_service", MAX_PORTS],
    ["own_port", "inet_service", MAX_PORTS],
    ["own_ip", "ipv4_addr", MAX_REMOTE],
    ["own_ip6", "ipv6_addr", MAX_REMOTE],
  ]
    .map(
      ([name, type, size]) => `  set ${name} {\n    type ${type}\n    size ${size}\n    flags dynamic\n  }\n`,
    )
    .join("")}  set own_starts {
    type ether_addr
    size ${MAX_DEVICES}
    flags dynamic,timeout
    timeout ${REMEMBERED_SECONDS}s
  }

  chain to_own_ports {
    type nat hook prerouting priority dstnat - 19; policy accept;
    iifname "lo" accept
    meta l4proto != tcp accept comment "what has no TCP port does not match the next rule"
    tcp dport != { ${ports.join(", ")} } accept
    fib daddr type != local accept
    update @own_starts { ether saddr limit rate over ${perSecond}/second burst ${burst} packets } goto refuse
    add @own_device ${counted("ether saddr", MAX_OF_DEVICE)} goto refuse comment "connections of a device to the gateway"
    add @own_few ${counted("ether saddr", FEW)} add @own_beyond ${counted("tcp dport", MAX_BEYOND_FEW)} goto refuse
${remote === null ? "" : remoteRules}    add @own_port ${counted("tcp dport", MAX_OF_PORT)} goto refuse
  }
`;
}
