import { type Address, contains, familyOf, isLinkLocal } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { Lan } from "../network/lan.ts";
import type { Host } from "../system/host.ts";

/** A busy machine needs some seconds for a program. */
const ASKED_WITHIN_MS = 10_000;

interface Deps {
  host: Pick<Host, "run">;
  /** The addresses that a device has, or had last since the start. */
  seen: (device: Mac) => readonly Address[];
  /** Whether another device has the address, or had it last. */
  isOthers: (device: Mac, address: Address) => boolean;
  lans: () => readonly Lan[];
}

/** The addresses to which ports lead. They change only if the device no longer has them. */
export class Addresses {
  private readonly chosen = new Map<Mac, readonly Address[]>();

  constructor(private readonly deps: Deps) {}

  /**
   * At most one of each family. A device that was not seen has none, because another one may have its address by now.
   */
  of(device: Mac): readonly Address[] {
    const former = this.chosen.get(device) ?? [];
    const usable = this.deps.seen(device).filter((each) => this.isUsable(device, each));
    const addresses = ([4, 6] as const).flatMap((family) => {
      const some = usable.filter((each) => familyOf(each) === family);
      // The latest address comes last.
      return some.find((each) => former.includes(each)) ?? some.at(-1) ?? [];
    });
    this.chosen.set(device, addresses);
    return addresses;
  }

  /** No port leads to the device any more. */
  forget(device: Mac): void {
    this.chosen.delete(device);
  }

  /**
   * Makes the kernel ask the LAN for the owner of an address, as before it sends a packet there (NTF_USE of
   * rtnetlink(7)). The answer goes into the neighbour table.
   */
  async ask(address: Address): Promise<void> {
    const { host, lans } = this.deps;
    const lan = lans().find(({ prefixes }) => prefixes.some((each) => contains(each, address)));
    if (lan !== undefined)
      await host.run(["ip", "neigh", "replace", address, "dev", lan.interface, "use"], {
        timeoutMs: ASKED_WITHIN_MS,
      });
  }

  private isUsable(device: Mac, address: Address): boolean {
    const isOnLan = this.deps.lans().some(({ prefixes }) => prefixes.some((each) => contains(each, address)));
    return isOnLan && !isLinkLocal(address) && !this.deps.isOthers(device, address);
  }
}
