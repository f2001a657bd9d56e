import { type Address, contains, familyOf, isLinkLocal } from "../address.ts";
import type { Mac } from "../mac.ts";
import type { Lan } from "../network/lan.ts";

interface Deps {
  /** The addresses that a device has, or had last. */
  seen: (device: Mac) => readonly Address[];
  /** Whether another device has the address, or had it last. */
  isOthers: (device: Mac, address: Address) => boolean;
  lans: () => readonly Lan[];
}

/** The addresses to which ports lead: they change only if the device does not have them any more. */
export class Addresses {
  private readonly chosen = new Map<Mac, readonly Address[]>();

  constructor(private readonly deps: Deps) {}

  /** At most one of each family. `saved` is used for a device that was not seen. */
  of(device: Mac, saved: Address | null): readonly Address[] {
    const former = this.chosen.get(device) ?? [];
    const seen = this.deps.seen(device);
    const usable = (seen.length > 0 || saved === null ? seen : [saved]).filter((each) =>
      this.isUsable(device, each),
    );
    const addresses = ([4, 6] as const).flatMap((family) => {
      const some = usable.filter((each) => familyOf(each) === family);
      // The latest is last.
      return some.find((each) => former.includes(each)) ?? some.at(-1) ?? [];
    });
    this.chosen.set(device, addresses);
    return addresses;
  }

  private isUsable(device: Mac, address: Address): boolean {
    const isOnLan = this.deps.lans().some(({ prefixes }) => prefixes.some((each) => contains(each, address)));
    return isOnLan && !isLinkLocal(address) && !this.deps.isOthers(device, address);
  }
}
