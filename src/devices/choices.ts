import type { Address } from "../base/address.ts";
import type { DefaultExit } from "../killswitch/policy.ts";
import type { Assignments } from "./assignments.ts";
import { defaultExitIn, type Exits, exitIn } from "./exit.ts";
import { asOrder, type ExitOrder, orderFault } from "./exit-order.ts";
import type { FixedAddresses } from "./fixed.ts";
import { type DeviceId, isDeviceId, isPrefixId, type LimitId } from "./id.ts";
import { assertSingle } from "./rate.ts";
import { type DeviceRecord, FIELD_KEYS, FIELDS } from "./record.ts";
import { refused } from "./refusals.ts";
import type { Roster } from "./roster.ts";
import type { DeviceChange } from "./schema.ts";
import { titlesOf } from "./title.ts";

interface Deps {
  assignments: Pick<Assignments, "current" | "directAllowed">;
  roster: Pick<Roster, "isSingle" | "refuseOverlap" | "neighbourWith" | "lanPrefixes">;
  fixed: Pick<FixedAddresses, "parse">;
  /** The names of all tunnels, `main` first. */
  tunnelNames: () => readonly string[];
}

/** What people and schedules can choose for devices now. Anything else throws, with the reason. */
export class Choices {
  constructor(private readonly deps: Deps) {}

  get exits(): Exits {
    return { tunnels: this.deps.tunnelNames(), directAllowed: this.deps.assignments.directAllowed };
  }

  /** What a client gives a device. The result is read in its turn: a permission that was withdrawn before it must count. */
  record(id: DeviceId, given: DeviceChange): () => Partial<DeviceRecord> {
    const keys = FIELD_KEYS.filter((key) => given[key] !== undefined);
    if (keys.length === 0)
      throw refused("required", { field: FIELD_KEYS.join(", ").replace(/, (\w+)$/, " or $1") });
    if (isPrefixId(id)) this.deps.roster.refuseOverlap(id);
    const context = {
      ...{ id, isSingle: this.deps.roster.isSingle(id) },
      exit: (texts: string | readonly string[]) => this.exit(id, texts),
      address: (text: string) => this.address(id, text),
    };
    return () =>
      Object.fromEntries(keys.map((key) => [key, FIELDS[key].parse(given[key] as never, context)]));
  }

  defaultExit(text: string): DefaultExit {
    return defaultExitIn(text, this.exits);
  }

  /** Several are taken in their order. A network has more devices than a person sees, so it is never direct. */
  networkExit(given: string | readonly string[]): ExitOrder {
    const texts = typeof given === "string" ? [given] : given;
    if (texts.includes("direct")) throw refused("direct_as_network_default");
    return this.order(texts);
  }

  /** Throws if a schedule cannot give a device, or a network, this exit. */
  assertScheduled(id: LimitId, exit: string): void {
    if (isDeviceId(id) && isPrefixId(id)) this.deps.roster.refuseOverlap(id);
    this.assertExit(exit);
  }

  /** Throws `not_found` if no device could be given this exit. */
  assertExit(exit: string): void {
    exitIn(exit, this.exits);
  }

  /** Throws `bad_request` if this can have neither rate nor quota. */
  assertLimit(id: LimitId, what: "rate" | "quota"): void {
    if (isDeviceId(id)) assertSingle(this.deps.roster.isSingle(id), what);
  }

  /** Several are taken in their order. */
  private exit(id: DeviceId, given: string | readonly string[]): ExitOrder {
    const texts = typeof given === "string" ? [given] : given;
    if (texts.includes("direct") && !this.deps.roster.isSingle(id)) throw refused("direct_for_network");
    return this.order(texts);
  }

  private order(texts: readonly string[]): ExitOrder {
    const fault = orderFault(texts);
    if (fault !== null) throw fault;
    return asOrder(texts.map((text) => exitIn(text, this.exits)));
  }

  private address(id: DeviceId, text: string): Address {
    const { assignments, fixed, roster } = this.deps;
    if (isPrefixId(id)) throw refused("address_for_network");
    const address = fixed.parse(text, roster.lanPrefixes);
    const holder = this.givenTo(address) ?? roster.neighbourWith(address);
    if (holder === null || holder === id) return address;
    throw refused("address_of_device", { device: titlesOf([holder], assignments.current), address });
  }

  private givenTo(address: Address): DeviceId | null {
    const { own } = this.deps.assignments.current.address;
    const [id = null] = [...own.keys()].filter((each) => own.get(each) === address);
    return id as DeviceId | null;
  }
}
