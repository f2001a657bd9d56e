import { type Address, familyOf } from "../base/address.ts";
import type { ContactPart, ForwardPart } from "../killswitch/forwarded.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { ActiveForward } from "./active-forward.ts";
import type { Opened } from "./port-lease.ts";

interface Deps {
  killSwitch: { update(owner: string, part: PolicyPart): Promise<void> };
  held: () => readonly ActiveForward[];
  /** The addresses to which the ports of a forward lead. */
  addressesOf: (held: ActiveForward) => readonly Address[];
}

/** A request for a port or an address, and the way that it takes. */
type Asked = Pick<Opened, "way" | "opener">;

/** The owner of the forwards in the kill switch; never a tunnel's name. */
const OWNER = "FORWARDS";

/** The parts of the kill switch for forwards: packets to the devices, and questions to the providers. */
export class Permits {
  /** The requests without a forward. */
  private readonly asking = new Set<Asked>();
  /** The last part that the kill switch was given, and when it has it; null if that failed. */
  private part: PolicyPart | null = { forwards: [], contacts: [] };
  private applied: Promise<void> = Promise.resolve();

  constructor(private readonly deps: Deps) {}

  /** Resolves once the kill switch has what the forwards need now. */
  apply(): Promise<void> {
    const { held, addressesOf, killSwitch } = this.deps;
    const all = held();
    const forwards = all.flatMap((each) => partOf(each, addressesOf(each)));
    const asked = [...all.flatMap(({ keeper }) => [keeper.asked, keeper.opened]), ...this.asking];
    const contacts = asked.flatMap((each) => (each === null ? [] : contactOf(each)));
    const part = { forwards, contacts };
    // Devices change all the time, but rarely their addresses.
    if (!Bun.deepEquals(part, this.part)) {
      this.part = part;
      this.applied = killSwitch.update(OWNER, part);
      this.applied.catch(() => {
        this.part = null;
      });
    }
    return this.applied;
  }

  /** Does work that asks a provider without a forward. */
  async whileAsking<T>(asked: Asked, work: () => Promise<T>): Promise<T> {
    this.asking.add(asked);
    try {
      await this.apply();
      return await work();
    } finally {
      this.asking.delete(asked);
      await this.apply();
    }
  }
}

/**
 * The packets that the firewall must redirect to the device. Providers open ports of IPv4; those that a person has set
 * may be of both.
 */
function partOf(
  { device, protocol, port, keeper }: ActiveForward,
  addresses: readonly Address[],
): ForwardPart[] {
  const { opened } = keeper;
  if (opened === null) return [];
  const {
    way,
    opener,
    port: { inside },
  } = opened;
  const used = addresses.filter((each) => opener.kind === "fixed" || familyOf(each) === 4);
  const {
    tunnel,
    session: { endpoint },
  } = way;
  return [{ device, tunnel, endpoint, protocol, inside, addresses: used, port }];
}

/** The requests to the provider that the firewall must permit. */
function contactOf({ way, opener }: Asked): ContactPart[] {
  const contact = opener.contact(way);
  return contact === null ? [] : [{ tunnel: way.tunnel, endpoint: way.session.endpoint, ...contact }];
}
