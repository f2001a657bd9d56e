import type { Address, Prefix } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import type { DefaultExit } from "../killswitch/policy.ts";
import { type Assignments, idsOn } from "./assignments.ts";
import { defaultExitIn, type Exits, exitIn, formatExit } from "./exit.ts";
import { asOrder, type ExitOrder, orderFault } from "./exit-order.ts";
import type { FixedAddresses } from "./fixed.ts";
import { type DeviceId, isPrefixId } from "./id.ts";
import type { Neighbourhood } from "./neighbourhood.ts";
import { titlesOf } from "./title.ts";

interface Deps {
  assignments: Pick<Assignments, "current">;
  fixed: Pick<FixedAddresses, "parse" | "holderOf">;
  neighbourhood: Pick<Neighbourhood, "holderOf">;
  /** The names of all tunnels, `main` first. */
  tunnelNames: () => readonly string[];
  isRemote: (id: DeviceId) => boolean;
  /** The networks of the LAN itself. */
  prefixes: () => readonly Prefix[];
}

/** What people and schedules can choose for devices now. Anything else throws, with the reason. */
export class Choices {
  constructor(private readonly deps: Deps) {}

  get exits(): Exits {
    const { directAllowed } = this.deps.assignments.current;
    return { tunnels: this.deps.tunnelNames(), directAllowed };
  }

  /** Several are taken in their order. */
  exit(id: DeviceId, given: string | readonly string[]): ExitOrder {
    const texts = typeof given === "string" ? [given] : given;
    const fault = orderFault(texts);
    if (fault !== null) throw new GatewayError("bad_request", `exit: ${fault}`);
    if (texts.includes("direct") && isPrefixId(id) && !this.deps.isRemote(id))
      throw new GatewayError(
        "bad_request",
        "exit: direct is for single devices, not for a network behind another router",
      );
    return asOrder(texts.map((text) => exitIn(text, this.exits)));
  }

  defaultExit(text: string): DefaultExit {
    return defaultExitIn(text, this.exits);
  }

  address(id: DeviceId, text: string): Address {
    const { assignments, fixed, neighbourhood, prefixes } = this.deps;
    if (isPrefixId(id))
      throw new GatewayError(
        "bad_request",
        "address: only a single device, given by its MAC address, can have one",
      );
    const address = fixed.parse(text, prefixes());
    const holder = fixed.holderOf(address) ?? neighbourhood.holderOf(address);
    if (holder === null || holder === id) return address;
    throw new GatewayError(
      "bad_request",
      `address: ${titlesOf([holder], assignments.current)} has ${address}; choose another one`,
    );
  }

  /** Throws if devices have been given this tunnel. */
  assertUnused(tunnel: string): void {
    const { current } = this.deps.assignments;
    if (formatExit(current.defaultExit) === tunnel)
      throw new GatewayError(
        "bad_request",
        `name: ${tunnel} is the default exit; choose another one first: portcullis default-exit main`,
      );
    const ids = idsOn(tunnel, current);
    if (ids.length === 0) return;
    throw new GatewayError(
      "bad_request",
      `name: ${tunnel} is the exit of ${titlesOf(ids, current)}; choose another exit for them first`,
    );
  }
}
