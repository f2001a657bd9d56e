import { Type } from "typebox";
import { checkerOf } from "../base/checker.ts";

/** The first and the last port of a range. */
export type PortRange = readonly [first: number, last: number];

export const ALL_PORTS: readonly PortRange[] = [[1, 65_535]];
/** The ports for a disguise, of which fewer are tried. */
export const DISGUISED_PORTS = 2;

/** Where a network that blocks most ports lets datagrams pass most often: QUIC and DNS. */
const OFTEN_OPEN = [443, 53];

export function inRange(port: number, ranges: readonly PortRange[]): boolean {
  return ranges.some(([first, last]) => first <= port && port <= last);
}

/**
 * The ports at which a server is tried, in this order: where one has answered here before, the usual one if there is one, those
 * that are often open, and one in the middle of the longest range, which no list of ports to block has.
 */
export function portsToTry(
  usual: number | null,
  ranges: readonly PortRange[],
  known: number | null,
): number[] {
  const isUsable = (port: number | null): port is number =>
    port !== null && (port === usual || inRange(port, ranges));
  const [longest] = ranges.toSorted((one, other) => other[1] - other[0] - (one[1] - one[0]));
  const middle = longest === undefined ? null : Math.floor((longest[0] + longest[1]) / 2);
  return [...new Set([known, usual, ...OFTEN_OPEN, middle].filter(isUsable))];
}

/** More than any list has. */
const MAX_RANGES = 64;
const portRange = checkerOf(
  Type.Tuple([Type.Integer({ minimum: 1, maximum: 65535 }), Type.Integer({ minimum: 1, maximum: 65535 })]),
);

/** `[[53,53],[4000,33433],…]`; what cannot be read is left out. */
export function rangesIn(value: unknown): readonly PortRange[] {
  const ranges = Array.isArray(value) ? value.slice(0, MAX_RANGES) : [];
  return ranges.filter((each) => portRange.Check(each) && each[0] <= each[1]);
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65535;
}
