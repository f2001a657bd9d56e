import { type HostName, isPrefix, type Prefix } from "../base/address.ts";
import { Matcher, type Rule } from "../destinations/rules.ts";
import { DESTINATIONS } from "../destinations/saved.ts";
import { parseDefaultExit } from "../devices/exit.ts";
import type { DeviceId } from "../devices/id.ts";
import { NETWORKS } from "../devices/network-record.ts";
import { isBlocked, isBlockedExit, isOutside, isOutsideExit } from "../shared/exits.ts";
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
  const isDefaultBlocked = ({ settings }: Holdings) =>
    isBlockedExit(parseDefaultExit(settings.default_exit ?? "main"));
  const others = isDefaultBlocked(here) && !isDefaultBlocked(then);
  const closed = blockedNetworks(then);
  const networks = [...blockedNetworks(here)].filter((link) => !closed.has(link));
  return [
    ...opened,
    ...networks.map((link) => `the network ${link}`),
    ...(others ? ["devices without an exit of their own"] : []),
  ];
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
