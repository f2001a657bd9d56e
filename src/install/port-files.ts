import { dirname } from "node:path";
import type { Prefix } from "../base/address.ts";
import { UPLINK_FILE } from "../network/ports.ts";
import type { Step } from "./step.ts";

/** Files of systemd-networkd on a flashed gateway. They come before `port.network`, which any port has. */
const FOLDER = dirname(UPLINK_FILE);
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
