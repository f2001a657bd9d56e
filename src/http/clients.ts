import { type Address, isLoopback, parseAddress, unmapped } from "../base/address.ts";

/** The device that has an address, of this link if that is known; null for none that the gateway knows. */
export type DeviceAt = (address: Address, link: string | null) => string | null;

/** All clients that neither the gateway nor the kernel knows, such as those behind another router. */
const UNKNOWN = "unknown";

/** Names the client of each request as limits count it: by its device, however many addresses that has. */
export class Clients {
  private readonly names = new WeakMap<Request, string>();

  constructor(private readonly deviceAt: DeviceAt) {}

  /** A link-local peer comes with its interface: `fe80::1%eth0`. */
  see(request: Request, peer: string): string {
    const name = this.nameOf(peer);
    this.names.set(request, name);
    return name;
  }

  /** The client of a request that was seen. */
  of(request: Request): string {
    return this.names.get(request) ?? UNKNOWN;
  }

  private nameOf(peer: string): string {
    const [bare = "", link = null] = peer.split("%");
    const parsed = parseAddress(bare);
    if (parsed === null) return UNKNOWN;
    const address = unmapped(parsed);
    // The programs of this machine.
    return isLoopback(address) ? address : (this.deviceAt(address, link) ?? UNKNOWN);
  }
}
