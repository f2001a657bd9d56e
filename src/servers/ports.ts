/** The first and the last port of a range. */
export type PortRange = readonly [first: number, last: number];

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
