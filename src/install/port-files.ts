import { mustParsePrefix, overlap, type Prefix } from "../base/address.ts";
import type { Step } from "./step.ts";

/** Files of systemd-networkd on a flashed gateway. They come before `port.network`, which any port has. */
const FOLDER = "/etc/systemd/network";
export const UPLINK_FILE = `${FOLDER}/cable.network`;
const PUBLIC = 0o644;

export function uplinkStep(uplink: string): Step {
  const text = `[Match]
Name=${uplink}

[Network]
DHCP=ipv4
# Forwarding would turn it off.
IPv6AcceptRA=yes
# For portcullis.local.
MulticastDNS=yes

[DHCPv4]
# A card that is written again has the same address.
ClientIdentifier=mac
`;
  return { do: "write", path: UPLINK_FILE, mode: PUBLIC, text };
}

export function lanFile(lan: string): string {
  return `${FOLDER}/lan-${lan}.network`;
}

/** The gateway's own address there, with its length, also as long as nothing is plugged in. */
export function lanStep(lan: string, own: Prefix): Step {
  const text = `[Match]
Name=${lan}

[Link]
RequiredForOnline=no

[Network]
Address=${own}
ConfigureWithoutCarrier=yes
IPv6AcceptRA=no
# For portcullis.local.
MulticastDNS=yes
`;
  return { do: "write", path: lanFile(lan), mode: PUBLIC, text };
}

/** 192.168.x.0/24, or where all of that is taken, 172.28.x.0/24: providers of tunnels use 10.0.0.0/8. */
const BLOCKS = ["192.168", "172.28"];
/** Routers rarely have these. */
const [FIRST, LAST] = [73, 254];

/** The gateway's addresses in `count` networks that do not overlap a taken one; fewer if there is no room. */
export function freeNetworks(count: number, taken: readonly Prefix[]): Prefix[] {
  const all = BLOCKS.flatMap((block) =>
    Array.from({ length: LAST - FIRST + 1 }, (_, at) => mustParsePrefix(`${block}.${FIRST + at}.1/24`)),
  );
  return all.filter((own) => taken.every((other) => !overlap(own, other))).slice(0, count);
}
