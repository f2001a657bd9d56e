import type { NetworkCards } from "../../../src/sandbox/topology.ts";
import { VPN } from "../../../src/sandbox/topology.ts";
import type { Catch } from "../tools/sniffer.ts";
import type { TrafficProgress } from "../tools/traffic.ts";
import type { Devices, Served, Sighting } from "./devices.ts";
import type { Layer } from "./layer.ts";

/** What else than WireGuard, ARP, NDP and DHCP may leave the uplink in a scenario, judged by the sniffer's line. */
export type Allowance = (leak: string) => boolean;

/** The result of a scenario. Numbers are packets or questions of the LAN client and the gateway together. */
export interface Row {
  scenario: string;
  cards: NetworkCards;
  layer: Layer;
  sent: number;
  /** Answered; if the internet says whom it saw, it saw a VPN server. */
  tunnelled: number;
  /** Refused at once. */
  refused: number;
  /** What each device with an exit of its own sent, by its exit and elsewhere. */
  devices: readonly Served[];
  /**
   * Frames on the uplink outside the tunnels, or, if more, questions that reached the internet outside them; and
   * packets of a device in a tunnel that is not its exit.
   */
  leaked: number;
  /** The first few of them, in words. */
  leaks: string[];
  /** Frames that the sniffer did not get: a proof needs 0. */
  missed: number;
  /** What else the scenario found wrong, or null. */
  failure: string | null;
}

/** All that was counted until one moment. */
export interface Count {
  caught: Catch;
  traffic: readonly TrafficProgress[];
  /** Of the devices, if there are any. */
  sightings: readonly Sighting[];
}

/** The number of leaks that are shown in words. */
const SHOWN = 5;
const VPN_ADDRESSES: readonly string[] = Object.values(VPN).flatMap(({ v4, v6 }) => [v4, v6]);

/**
 * With one card the home router is a host of the LAN: an answer of its resolver that comes when the device is direct no
 * more, or when the firewall is gone, is refused as any other host's packet.
 */
const TO_NEIGHBOUR = /^192\.168\.77\.1 > 192\.168\.77\.254 ICMP type 3 code (3|13)$/;

/** What was counted between two moments. */
export function measured(
  before: Count,
  after: Count,
  { allowed = () => false, devices }: { allowed?: Allowance; devices?: Devices } = {},
): Omit<Row, "scenario" | "cards" | "layer" | "failure"> {
  const frames = after.caught.leaks
    .slice(before.caught.leaks.length)
    .filter((leak) => !TO_NEIGHBOUR.test(leak) && !allowed(leak) && devices?.isDirect(leak) !== true);
  const [then, now] = [sums(before.traffic), sums(after.traffic)];
  const outside = now.outside - then.outside;
  const seen = outside > 0 ? [`the internet saw ${outside} questions come from outside the tunnel`] : [];
  const astray = devices?.astray(before.sightings, after.sightings) ?? [];
  return {
    sent: now.sent - then.sent,
    tunnelled: now.answered - then.answered - outside,
    refused: now.refused - then.refused,
    devices: devices?.between(before.sightings, after.sightings) ?? [],
    leaked: Math.max(frames.length, outside) + astray.length,
    leaks: [...seen, ...astray.slice(0, SHOWN), ...frames.slice(0, SHOWN)],
    missed: after.caught.missed - before.caught.missed,
  };
}

function sums(reports: readonly TrafficProgress[]) {
  const tallies = reports.flatMap((report) => Object.values(report));
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  const outside = tallies
    .flatMap((tally) => Object.entries(tally.seenAs))
    .filter(([address]) => !VPN_ADDRESSES.includes(address))
    .map(([, times]) => times);
  return {
    sent: sum(tallies.map((tally) => tally.sent)),
    answered: sum(tallies.map((tally) => tally.answered)),
    refused: sum(tallies.map((tally) => tally.refused)),
    outside: sum(outside),
  };
}
