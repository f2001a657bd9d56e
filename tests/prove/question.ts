import { familyOf } from "../../src/base/address.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { isIn } from "./exits.ts";
import type { Family, Packet } from "./packet.ts";
import { either, same, type Term, within } from "./terms.ts";
import type { Walk } from "./walk.ts";
import type { Walks } from "./walks.ts";

export interface Question {
  property: "a" | "b" | "c" | "d" | "e" | "f" | "h" | "possible";
  /** Which packets, for people. */
  of: string;
  walk: Walk;
  /** What the packet must be to be an answer. */
  wrong: Term;
}

export type Ask = (walks: Walks, policy: Policy, family: Family) => Question[];

export function asked(property: Question["property"], of: string, walk: Walk, wrong: Term): Question {
  return { property, of: `IPv${walk.packet.family} ${of}`, walk, wrong };
}

export function lanNames({ lans }: Policy): string[] {
  return lans.map((lan) => lan.interface);
}

/** The interfaces of devices. */
export function clientsOf(policy: Policy): string[] {
  return [...lanNames(policy), ...(policy.remote === undefined ? [] : [policy.remote.interface])];
}

export function eachWayIn(policy: Policy) {
  return clientsOf(policy).flatMap((from) => policy.carrying.map((tunnel) => ({ from, tunnel })));
}

export function isInside({ lans, uplink }: Policy, address: Term, family: Family): Term {
  const prefixes = lans.filter((lan) => lan.interface === uplink).flatMap((lan) => lan.prefixes);
  const near =
    family === 6 ? [within(address, 0xfe80n << 112n, 10), within(address, 0xff02n << 112n, 16)] : [];
  return either(
    ...near,
    ...prefixes.filter((each) => familyOf(each) === family).map((each) => isIn(address, each)),
  );
}

export function isMac({ mac }: Packet, id: string): Term {
  return same(mac, BigInt(`0x${id.replaceAll(":", "")}`));
}
