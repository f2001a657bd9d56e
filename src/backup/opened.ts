import { type HostName, isPrefix, type Prefix } from "../base/address.ts";
import { Matcher, type Rule } from "../destinations/rules.ts";
import { DESTINATIONS } from "../destinations/saved.ts";
import { parseDefaultExit } from "../devices/exit.ts";
import type { DeviceId, LimitId } from "../devices/id.ts";
import { NETWORKS } from "../devices/network-record.ts";
import { SCHEDULES, type TimedAs } from "../schedules/schedule.ts";
import { isBlocked, isBlockedExit, isOutside, isOutsideExit } from "../shared/exits.ts";
import { linkIn } from "../shared/network-id.ts";
import type { StoredDevice } from "../store/store.ts";
import type { Holdings } from "./holdings.ts";

/** What can leave outside the tunnel after a restore and cannot now, for people; it is empty if `direct` is forbidden. */
export function openedBy(here: Holdings, then: Holdings): string[] {
  if (!isAllowed(then)) return [];
  return [...new Set([...openedDevices(here, then), ...openedTargets(here, then), ...unblocked(here, then)])];
}

/** Whether root allows the exit `direct`. */
export function isAllowed({ settings }: Holdings): boolean {
  return settings.direct === "on";
}

function openedDevices(here: Holdings, then: Holdings): string[] {
  const had = isAllowed(here) ? withExit("direct", here) : new Set();
  return then.devices.filter(({ id, exit }) => isOutside(exit) && !had.has(id)).map(titleOf);
}

/** Also those that only a narrower rule keeps inside now. */
function openedTargets(here: Holdings, then: Holdings): string[] {
  const [had, has] = [new Matcher(rulesIn(here)), new Matcher(rulesIn(then))];
  const isDirectHere = (target: Target) => isAllowed(here) && isDirect(target, had);
  return [...has.rules, ...had.rules]
    .flatMap(targetsOf)
    .filter((target) => isDirect(target, has) && !isDirectHere(target))
    .map(({ to, device }) => `traffic to ${to}${device === null ? "" : ` for ${device}`}`);
}

/** A rule for all devices does not count for those that are blocked. */
function unblocked(here: Holdings, then: Holdings): string[] {
  const isForAll = ({ exit, devices }: Rule) => isOutsideExit(exit) && devices.length === 0;
  if (!rulesIn(then).some(isForAll)) return [];
  const blocked = withExit("blocked", then);
  const opened = here.devices.filter(({ id, exit }) => isBlocked(exit) && !blocked.has(id)).map(titleOf);
  const others = isDefaultBlocked(here) && !isDefaultBlocked(then);
  const closed = blockedNetworks(then);
  const networks = [...blockedNetworks(here)].filter((link) => !closed.has(link));
  return [
    ...opened,
    ...networks.map((link) => `the network ${link}`),
    ...(others ? ["devices without an exit of their own"] : []),
    ...unblockedByTime(here, then),
  ];
}

/** Whom a schedule gives an exit that may be blocked without it, and those that a schedule of here blocks no more. */
function unblockedByTime(here: Holdings, then: Holdings): string[] {
  const [had, has] = [timedExitsIn(here), timedExitsIn(then)];
  const opening = without(has, had).filter(({ value, who }) => !isBlocked(value) && mayBeBlocked(who, here));
  const lost = without(had, has).filter(({ value, who }) => isBlocked(value) && !isBlockedItself(who, then));
  return [...opening, ...lost].map(({ who, name }) => {
    const link = linkIn(who);
    const device = then.devices.find(({ id }) => id === who);
    const title = link === null ? JSON.stringify(device?.name ?? who) : `the network ${link}`;
    return `${title} at the times of the schedule ${JSON.stringify(name)}`;
  });
}

function timedExitsIn({ settings }: Holdings): TimedAs<"exit">[] {
  const schedules = SCHEDULES.parse(settings[SCHEDULES.key] ?? null);
  return schedules.flatMap((each) => (each.do === "exit" ? [each] : []));
}

function without<Entry>(all: readonly Entry[], others: readonly Entry[]): Entry[] {
  const known = new Set(others.map((each) => JSON.stringify(each)));
  return all.filter((each) => !known.has(JSON.stringify(each)));
}

/** A backup does not know which network a device is in. */
function mayBeBlocked(who: LimitId, holdings: Holdings): boolean {
  const isInBlocked = linkIn(who) === null && blockedNetworks(holdings).size > 0;
  return isBlockedItself(who, holdings) ?? (isDefaultBlocked(holdings) || isInBlocked);
}

/** Null if it has no exit of its own. */
function isBlockedItself(who: LimitId, { devices, settings }: Holdings): boolean | null {
  const link = linkIn(who);
  if (link === null) {
    const exit = devices.find(({ id }) => id === who)?.exit ?? null;
    return exit === null ? null : isBlocked(exit);
  }
  const [, network] = NETWORKS.parse(settings[NETWORKS.key] ?? null).find(([each]) => each === link) ?? [];
  return network?.exit == null ? null : isBlockedExit(network.exit[0]);
}

function isDefaultBlocked({ settings }: Holdings): boolean {
  return isBlockedExit(parseDefaultExit(settings.default_exit ?? "main"));
}

function blockedNetworks({ settings }: Holdings): Set<string> {
  const networks = NETWORKS.parse(settings[NETWORKS.key] ?? null);
  return new Set(networks.flatMap(([link, { exit }]) => (isBlockedExit(exit?.[0]) ? [link] : [])));
}

/** A part of a rule, for one of its devices or, with null, for all. */
interface Target {
  to: HostName | Prefix;
  device: DeviceId | null;
}

function targetsOf({ names, prefixes, devices }: Rule): Target[] {
  const owners = devices.length === 0 ? [null] : devices;
  return owners.flatMap((device) => [...names, ...prefixes].map((to) => ({ to, device })));
}

function isDirect({ to, device }: Target, rules: Matcher): boolean {
  const match = isPrefix(to) ? rules.forPrefix(to, device) : rules.forName(to, device);
  return isOutsideExit(match?.rule.exit);
}

function rulesIn({ settings }: Holdings): readonly Rule[] {
  return DESTINATIONS.parse(settings[DESTINATIONS.key] ?? null);
}

function withExit(exit: string, { devices }: Holdings): Set<string> {
  return new Set(devices.filter((each) => each.exit === exit).map(({ id }) => id));
}

function titleOf({ id, name }: StoredDevice): string {
  return JSON.stringify(name ?? id);
}
