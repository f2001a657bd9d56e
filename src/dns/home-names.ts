import { domainToASCII, domainToUnicode } from "node:url";
import { type Address, isLinkLocal, parseAddress } from "../base/address.ts";
import { GATEWAY_LABEL } from "../base/home-zone.ts";
import type { Device } from "../devices/schema.ts";

/** A device, as far as its name is concerned. */
export type NamedDevice = Pick<Device, "id" | "name" | "named" | "addresses" | "fixed_address">;

/**
 * No device can have these names: programs look them up to find their proxy or tunnel, so the device would get what
 * they send.
 */
const RESERVED: ReadonlySet<string> = new Set([GATEWAY_LABEL, "wpad", "isatap", "localhost"]);
const MAX_LABEL = 63;

/** What the devices of the home are called, and which addresses they have. */
export class HomeNames {
  /** The device that has each label. */
  private readonly holders = new Map<string, string>();
  private readonly addresses = new Map<string, readonly Address[]>();
  private readonly labels = new Map<Address, string>();

  /**
   * `own` are the gateway's addresses. Of devices that are called the same, those that a person has named so come first,
   * then the one that had the name before: nobody takes over the name of another device by telling it.
   */
  constructor(devices: readonly NamedDevice[], own: readonly Address[], former?: HomeNames) {
    this.put(GATEWAY_LABEL, "", own);
    const rankOf = ({ id, name, named }: NamedDevice) => [
      named ? 0 : 1,
      former?.holders.get(labelOf(name) ?? "") === id ? 0 : 1,
    ];
    const ranked = devices.map((device) => ({ device, rank: rankOf(device).join() }));
    for (const { device } of ranked.sort((one, other) => (one.rank < other.rank ? -1 : 1))) {
      const label = labelOf(device.name);
      if (label === null || RESERVED.has(label) || this.holders.has(label)) continue;
      this.put(label, device.id, addressesOf(device));
    }
  }

  /** Null if nothing is called so. It may be asked as it is written, with an underscore or with its accents. */
  addressesOf(label: string): readonly Address[] | null {
    const known = this.addresses.get(label);
    if (known !== undefined || label.includes(".")) return known ?? null;
    return this.addresses.get(labelOf(domainToUnicode(label)) ?? "") ?? null;
  }

  labelAt(address: Address): string | null {
    return this.labels.get(address) ?? null;
  }

  private put(label: string, holder: string, addresses: readonly Address[]): void {
    this.holders.set(label, holder);
    this.addresses.set(label, addresses);
    for (const address of addresses) if (!this.labels.has(address)) this.labels.set(address, label);
  }
}

/**
 * A device's name as a part of a host name: "Anna’s iPad" becomes `annas-ipad`, and what has no Latin letter its form in
 * ASCII (RFC 5890). Null if nothing of it is left.
 */
export function labelOf(name: string): string | null {
  const plain = name.normalize("NFKD").replace(/\p{M}|['’]/gu, "");
  return (
    joined(plain, /[^a-z0-9]+/g)
      .slice(0, MAX_LABEL)
      .replace(/-$/, "") || asciiOf(name)
  );
}

function asciiOf(name: string): string | null {
  const label = domainToASCII(joined(name.normalize("NFKC"), /[^\p{L}\p{M}\p{N}]+/gu));
  return label === "" || label.length > MAX_LABEL ? null : label;
}

function joined(words: string, between: RegExp): string {
  return words.toLowerCase().replace(between, "-").replace(/^-|-$/g, "");
}

/** Those that it has now, or else the one that it gets. */
function addressesOf({ addresses, fixed_address: fixed }: NamedDevice): Address[] {
  const known = addresses.length === 0 && fixed !== null ? [fixed] : addresses;
  return known.flatMap((each) => parseAddress(each) ?? []).filter((address) => !isLinkLocal(address));
}
