import { type Address, parseAddress } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { Host } from "../system/host.ts";
import { resolversInside } from "./mtu.ts";
import { resolversOf } from "./nameservers.ts";
import { refused } from "./refusals.ts";
import type { SavedState } from "./saved-state.ts";
import type { Session } from "./session.ts";

/** Source ports for packets outside the tunnel; below those that the kernel picks (32768 and up), so that no program gets one by chance. */
const OWN_PORTS = { first: 20_000, count: 10_000 };

interface Deps {
  host: Host;
  killSwitch: KillSwitch;
  savedState: SavedState;
  log: Pick<Log, "info" | "warn">;
}

/** How a name is looked up: through a live tunnel, whose session is given if it is `main`'s, or outside, in addition to the owner's part of the kill switch. */
export type EgressPath =
  | { inside: true; session?: Session }
  | { inside: false; owner: string; part: PolicyPart };

/** Looks up the few names that the gateway itself needs. */
export class Resolver {
  constructor(private readonly deps: Deps) {}

  /**
   * The addresses of a name, at least one. Outside the tunnel, one source port may send the query until the owner's next
   * update of the kill switch. If the lookup fails, returns the last known address.
   */
  async resolve(name: string, path: EgressPath, signal: AbortSignal): Promise<[Address, ...Address[]]> {
    const address = parseAddress(name);
    if (address !== null) return [address];
    const { savedState, log } = this.deps;
    try {
      const [first, ...others] = usable(await this.ask(name, path, signal));
      if (first === undefined) throw refused("name_unresolved", { name });
      savedState.saveAddress(name, first);
      return [first, ...others];
    } catch (error) {
      const known = savedState.address(name);
      if (signal.aborted || known === null) throw error;
      log.warn(`${messageOf(error)}: using its last known address ${known}`);
      return [known];
    }
  }

  private async ask(name: string, path: EgressPath, signal: AbortSignal): Promise<string[]> {
    const { host, killSwitch, log } = this.deps;
    const sourcePort = ownPort(host);
    const resolvers = await this.resolversFor(path);
    if (!path.inside) {
      log.info(`the name ${name} is looked up outside the tunnel, at ${resolvers.join(" and ")}`);
      await killSwitch.update(path.owner, { ...path.part, lookup: { resolvers, sourcePort } });
    }
    return unlessAborted(host.lookup(name, resolvers, sourcePort), signal);
  }

  /** Queries to any other resolver would be led to the first one of the tunnel, which may be silent. */
  private async resolversFor(path: EgressPath): Promise<Address[]> {
    const { host, killSwitch } = this.deps;
    const own = path.inside && path.session ? resolversInside(path.session, killSwitch.network) : [];
    return own.length > 1 ? own : resolversOf(host);
  }
}

/** A name has a few addresses. A firewall rule must not grow to hundreds. */
const MAX_ADDRESSES = 8;

/** Each address once, as the kernel writes it. An IPv4-mapped IPv6 address cannot be an endpoint. */
function usable(addresses: readonly string[]): Address[] {
  const known = addresses.map(parseAddress).filter((address) => address !== null);
  return [...new Set(known)].filter((address) => !address.startsWith("::ffff:")).slice(0, MAX_ADDRESSES);
}

/** A random source port from the range that only the gateway uses. */
export function ownPort(host: Pick<Host, "random">): number {
  return OWN_PORTS.first + Math.floor(host.random() * OWN_PORTS.count);
}

/** The outcome of the work, or the signal's reason if that comes first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const giveUp = () => reject(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  // The signal may live for days, and would collect a listener for each lookup.
  void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  return promise;
}
