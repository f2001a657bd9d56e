import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { type BackedUp, type Change, rowChanges } from "../base/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { MAIN_SLOT, MAX_TUNNELS } from "../network/slot.ts";
import { viaText } from "../servers/hops.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import { CONNECTION, Connection, savedTunnelsIn, tunnelKey } from "../tunnel/connection.ts";
import { LAST, type Last } from "../tunnel/last.ts";
import type { Order, OrderTarget, Rules } from "../tunnel/order.ts";
import type { Holdings } from "./holdings.ts";
import { refused } from "./refusals.ts";

/** A tunnel other than `main`, in a backup. Its slot is not part of it: another machine may use it for another tunnel. */
export const BackedUpTunnel = objectOf({
  name: Type.String(),
  connection: Type.Union([Connection, Type.Null()]),
});
type BackedUpTunnel = Static<typeof BackedUpTunnel>;

/** Where `main` leads. */
export const MAIN_CONNECTION: BackedUp & { unset: string } = {
  key: CONNECTION.key,
  unset: "null",
  isValid: (text) => text === "null" || CONNECTION.parse(text) !== null,
  merge: (here, given) => CONNECTION.format(latest(CONNECTION.parse(here), CONNECTION.parse(given))),
  changes: (here, then) => {
    const rowOf = (text: string | null) => new Map([[MAIN, serverOf(CONNECTION.parse(text))]]);
    return changesOf(rowOf(here), rowOf(then));
  },
};

/** Where the tunnels led last. */
export const LAST_TARGETS: BackedUp = {
  key: LAST.key,
  isValid: (text) => LAST.isValid(text),
  // What is known here is later.
  merge: (here, given, tunnels) => {
    const known = Object.entries(LAST.parse(given)).filter(([name]) => tunnels.has(name));
    const all = { ...LAST.parse(here), ...Object.fromEntries(known), ...LAST.parse(here) };
    return LAST.format(Object.fromEntries(Object.entries(all).slice(0, MAX_TUNNELS)));
  },
  changes: (here, then) => {
    const rowsOf = (text: string | null) =>
      new Map(Object.entries(LAST.parse(text)).map(([name, last]) => [name, lastText(last)]));
    return rowChanges("last targets of tunnel", rowsOf(here), rowsOf(then));
  },
};

export function tunnelsOf(settings: Holdings["settings"]): BackedUpTunnel[] {
  return [...savedTunnelsIn(settings)].map(([name, { connection }]) => ({ name, connection }));
}

/** The settings of a backup's tunnels, with the slots that they have here, or get. */
export function tunnelSettings(
  settings: Holdings["settings"],
  tunnels: readonly BackedUpTunnel[],
): Record<string, string> {
  const all = savedTunnelsIn(settings);
  for (const { name, connection } of tunnels) {
    const taken = [MAIN_SLOT, ...[...all.values()].map(({ slot }) => slot)];
    const free = Array.from({ length: MAX_TUNNELS }, (_, slot) => slot).find((slot) => !taken.includes(slot));
    const slot = all.get(name)?.slot ?? free;
    if (slot === undefined) throw refused("restore_too_much", { of: "tunnels", max: MAX_TUNNELS });
    all.set(name, { slot, connection: latest(all.get(name)?.connection ?? null, connection) });
  }
  return Object.fromEntries(tunnels.map(({ name }) => [tunnelKey(name), JSON.stringify(all.get(name))]));
}

export function tunnelChanges(here: Holdings, then: Holdings): Change[] {
  const rowsOf = ({ settings }: Holdings) =>
    new Map(tunnelsOf(settings).map(({ name, connection }) => [name, serverOf(connection)]));
  return changesOf(rowsOf(here), rowsOf(then));
}

function changesOf(here: ReadonlyMap<string, string>, then: ReadonlyMap<string, string>): Change[] {
  return rowChanges("tunnel", here, then).map((change) => ({
    ...change,
    replaces: change.replaces && change.before !== NO_SERVER,
  }));
}

const NO_SERVER = "no server";

/** The server with its entry, how it is reached and keyed if that was asked for, and what was asked for if it was a place. */
function serverOf(connection: Connection | null): string {
  if (connection === null) return NO_SERVER;
  const { provider, name, via, wanted = name, wanted_via = via, transport, quantum, order } = connection;
  const asked = wanted === name && wanted_via === via ? "" : `, for ${viaText(wanted, wanted_via)}`;
  const how = transport === undefined ? "" : `, ${transport}`;
  const keys = quantum === undefined ? "" : `, keys safe from quantum computers: ${quantum}`;
  const first = order === undefined ? "" : `; the first that works of: ${targetsText(order)}`;
  return `${viaText(name, via)} (${PROVIDER_WORDS[provider].word}${asked}${how}${keys})${first}`;
}

function lastText(last: Last): string {
  return last.targets.length === 1 ? targetsText(last) : `the first that works of: ${targetsText(last)}`;
}

/** The targets of an order, and when they are left and tried again. */
function targetsText({ targets, ...rules }: Omit<Order, "at"> | Last): string {
  return `${targets.map(targetText).join(", ")}${backText(rules)}${leftText(rules)}`;
}

function backText({ back_after_minutes = 0, back_when_quiet }: Rules): string {
  if (back_after_minutes === 0) return "";
  return `, back after ${back_after_minutes} min${back_when_quiet ? " at a quiet time" : ""}`;
}

function leftText({ move_when }: Rules): string {
  return move_when === undefined ? "" : `, left when ${move_when.join(" or ")}`;
}

function targetText({ provider, server, via, transport }: OrderTarget): string {
  const how = transport === undefined ? "" : `, ${transport}`;
  return `${viaText(server, via)} (${PROVIDER_WORDS[provider].word}${how})`;
}

/**
 * What is known here of the same server is newer. Keys and an endpoint that a provider has assigned are not taken:
 * nobody could see whose they are, and the next connect gets new ones.
 */
function latest(here: Connection | null, given: Connection | null): Connection | null {
  if (serverOf(here) === serverOf(given)) return here;
  const { assigned: _, ...named } = given ?? {};
  return given === null ? null : (named as Connection);
}
