import type { Effect } from "../base/decision.ts";
import { isName, nameIn } from "../base/name.ts";
import { Saved, SavedChoice, type Texts } from "../base/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { isBlockedExit, isOutsideExit } from "../shared/exits.ts";
import { linkIn, networkIdOf } from "../shared/network-id.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import type { StoredDevice } from "../store/store.ts";
import { type Column, changedIn, oneOf, withOne } from "./column.ts";
import { formatExit, parseDefaultExit } from "./exit.ts";
import { asOrder, type ExitOrder, formatOrder, parseOrder } from "./exit-order.ts";
import type { Field } from "./field.ts";
import { ADDRESS } from "./fixed.ts";
import {
  type DeviceId,
  EVERYBODY_ELSE,
  isDeviceId,
  isPrefixId,
  isRemoteId,
  type LimitId,
  parseDeviceId,
  parseLimitId,
} from "./id.ts";
import { LABEL_FIELDS } from "./label.ts";
import {
  type NetworkRecord,
  type Networks,
  readNetworks,
  switchEffects,
  UNSET_NETWORK,
  writeNetworks,
} from "./network-record.ts";
import { QUOTA } from "./quota.ts";
import { RATE } from "./rate.ts";

const NAME: Field<string> = { parse: (given: string) => nameIn("name", given), stored: null };

/** A device goes through the first of its exits that is up. */
const EXIT: Field<ExitOrder> = {
  parse: (given: string | readonly string[] | null, { exit }) => (given === null ? null : exit(given)),
  // That of a network by a schedule lies over the network's own one: `networksEffect` knows both.
  effect: (before, after, id) =>
    linkIn(id) === null ? exitEffect(homeOrderIn(before, id), homeOrderIn(after, id)) : "neither",
  stored: null,
};

/** What people can give a device, or all others together: those have no name and no address. */
export const FIELDS = {
  ...{ name: NAME, exit: EXIT, address: ADDRESS, rate: RATE, quota: QUOTA },
  ...LABEL_FIELDS,
};

export type FieldKey = keyof typeof FIELDS;
export const FIELD_KEYS = Object.keys(FIELDS) as FieldKey[];
type ValueOf<Row> = Row extends Field<infer Value> ? Value : never;
type Values = { readonly [Key in FieldKey]: ValueOf<(typeof FIELDS)[Key]> };

/** What people have given a device; null for what they have not. */
export type DeviceRecord = { readonly [Key in FieldKey]: Values[Key] | null };

/** Everything that people have decided about devices, and what schedules give over it. */
export type Decisions = { readonly [Key in FieldKey]: Column<Values[Key]> } & {
  readonly networks: Networks;
  /** Whether the operator lets devices leave outside the tunnel. */
  readonly directAllowed: boolean;
  /** One sentence if the exits were lost, and nobody has chosen the default exit since; else null. */
  readonly exitsLost: string | null;
};

/** The place where decisions are kept. */
export interface DeviceStorage extends Texts {
  devices(): StoredDevice[];
  saveDevice(device: StoredDevice): void;
  forget(key: string): void;
  atomically(work: () => void): void;
}

/** The lists of devices that backups have beside their table. */
export const DEVICE_LISTS = FIELD_KEYS.flatMap((key) => FIELDS[key].stored?.list ?? []);

export const DEFAULT_EXIT = new SavedChoice(
  EXIT_KEYS.defaultExit,
  "default exit",
  MAIN,
  (text) => parseDefaultExit(text) !== null,
);
/** Whether the exit of this name is allowed: `on`, or nothing. A restore allows it only if that is permitted. */
export const DIRECT = new SavedChoice(
  EXIT_KEYS.direct,
  "exit direct",
  "not allowed",
  (text) => text === "on",
  true,
);
/** Id and exit of each device. */
const SCHEDULED_EXITS = new Saved(EXIT_KEYS.scheduledExits, scheduledIn, scheduledText);

export function recordOf(decisions: Decisions, id: LimitId): DeviceRecord {
  return Object.fromEntries(
    FIELD_KEYS.map((key) => [key, decisions[key].own.get(id) ?? null]),
  ) as DeviceRecord;
}

/** The exits in force, in their order: the device's own, or else those of the network that it is on. */
export function orderOf(decisions: Decisions, id: LimitId, link: string | null = null): ExitOrder {
  return ownOrderIn(decisions.exit, id) ?? orderOfNetwork(decisions, link);
}

/** Those of the devices of a network without an exit of their own; all others have the home's default exit. */
export function orderOfNetwork(decisions: Decisions, link: string | null): ExitOrder {
  const own = link === null ? null : networkOrderIn(decisions, link);
  return own ?? homeOrderIn(decisions.exit, EVERYBODY_ELSE);
}

/** What a schedule gives the network, or else a person; null if it has the home's. */
export function networkOrderIn({ exit, networks }: Decisions, link: string): ExitOrder | null {
  return exit.scheduled.get(networkIdOf(link)) ?? networks?.get(link)?.exit ?? null;
}

/** The interfaces of the networks about which anything is known. */
export function linksIn({ exit, networks }: Decisions): string[] {
  const scheduled = [...exit.scheduled.keys()].flatMap((id) => linkIn(id) ?? []);
  return [...new Set([...(networks?.keys() ?? []), ...scheduled])];
}

/** Whether new networks are as the home. Otherwise they are blocked until a person decides. */
export function areNewOpen({ exit }: Pick<Decisions, "exit">): boolean {
  return formatOrder(homeOrderIn(exit, EVERYBODY_ELSE)) === MAIN;
}

/** The decisions with other fields of one device. What a person decides ends what a schedule gives. */
export function withRecord(decisions: Decisions, id: LimitId, change: Partial<DeviceRecord>): Decisions {
  const changed = Object.entries(change).map(([key, own]) => {
    const given = decisions[key as FieldKey] as Column<unknown>;
    return [key, withOne(given, id, { own, scheduled: undefined })] as const;
  });
  const isSame = changed.every(([key, given]) => given === decisions[key as FieldKey]);
  return isSame ? decisions : { ...decisions, ...Object.fromEntries(changed) };
}

/** The decisions with what a schedule gives one device in a field; undefined ends it. */
export function withScheduled(
  decisions: Decisions,
  key: FieldKey,
  id: LimitId,
  scheduled: DeviceRecord[FieldKey] | undefined,
): Decisions {
  const given = decisions[key] as Column<unknown>;
  const { own } = oneOf(given, id);
  const changed = withOne(given, id, { own, scheduled });
  return changed === given ? decisions : { ...decisions, [key]: changed };
}

/** The decisions without a change of devices. What was decided about the same since stays. */
export function undoneIn(decisions: Decisions, before: Decisions, after: Decisions): Decisions {
  const columns = FIELD_KEYS.map((key) => {
    const [former, given] = [before[key], after[key]] as [Column<unknown>, Column<unknown>];
    const undo = (column: Column<unknown>, id: LimitId) => {
      const [had, got, has] = [oneOf(former, id), oneOf(given, id), oneOf(column, id)];
      if (Bun.deepEquals(has, got)) return withOne(column, id, had);
      // A schedule has given something over it since: that stays, and under it is what was there before.
      return Bun.deepEquals(has.own, got.own) ? withOne(column, id, { ...has, own: had.own }) : column;
    };
    return [key, changedIn(former, given).reduce(undo, decisions[key] as Column<unknown>)] as const;
  });
  return { ...decisions, ...Object.fromEntries(columns), networks: undoneNetworks(decisions, before, after) };
}

function undoneNetworks({ networks }: Decisions, before: Decisions, after: Decisions): Networks {
  if (networks === null || before.networks === after.networks) return networks;
  const undone = new Map(networks);
  for (const link of new Set([...(before.networks?.keys() ?? []), ...(after.networks?.keys() ?? [])])) {
    const [former, record] = [before.networks?.get(link), after.networks?.get(link)];
    const isOther = !Bun.deepEquals(former, record) && Bun.deepEquals(networks.get(link), record);
    // That it was seen stays.
    if (isOther) undone.set(link, former ?? UNSET_NETWORK);
  }
  return undone;
}

/** What a change does to what can pass, by some of the fields. */
export function effectOn(keys: readonly FieldKey[], before: Decisions, after: Decisions): Effect {
  const effects = keys.flatMap((key) => {
    const { effect } = FIELDS[key] as Field<unknown>;
    const [former, given] = [before[key], after[key]] as [Column<unknown>, Column<unknown>];
    return changedIn(former, given).map((id) => effect?.(former, given, id) ?? "neither");
  });
  if (effects.includes("loosens")) return "loosens";
  return effects.includes("tightens") ? "tightens" : "neither";
}

/** The devices with a name or an exit. */
export function idsIn({ name, exit }: Decisions): DeviceId[] {
  return devicesOf([...exit.own.keys(), ...exit.scheduled.keys(), ...name.own.keys()]);
}

/** The devices about which anything was decided. */
export function idsGiven(decisions: Decisions): DeviceId[] {
  const columns = FIELD_KEYS.map((key) => decisions[key] as Column<unknown>);
  return devicesOf(
    columns.flatMap(({ own, scheduled }) => [
      ...own.keys(),
      ...[...scheduled].flatMap(([id, value]) => (value === null ? [] : [id])),
    ]),
  );
}

export function isGiven(decisions: Decisions, id: DeviceId): boolean {
  return FIELD_KEYS.some((key) => {
    const { own, scheduled } = decisions[key] as Column<unknown>;
    return own.has(id) || (scheduled.get(id) ?? null) !== null;
  });
}

/** The devices that have been given this exit, alone or among others. */
export function idsOn(exit: string, { exit: { own, scheduled } }: Decisions): DeviceId[] {
  const has = (order: ExitOrder | null) => order?.some((each) => formatExit(each) === exit) === true;
  return devicesOf([...own, ...scheduled].flatMap(([id, order]) => (has(order) ? [id] : [])));
}

function devicesOf(ids: readonly LimitId[]): DeviceId[] {
  return [...new Set(ids)].filter(isDeviceId);
}

function ownOrderIn({ own, scheduled }: Column<ExitOrder>, id: LimitId): ExitOrder | null {
  return scheduled.get(id) ?? own.get(id) ?? null;
}

/** Made once: each question of a device asks for it. */
const UNDECIDED = asOrder([{ to: "tunnel", name: MAIN }]);

function homeOrderIn(exit: Column<ExitOrder>, id: LimitId): ExitOrder {
  return ownOrderIn(exit, id) ?? ownOrderIn(exit, EVERYBODY_ELSE) ?? UNDECIDED;
}

/** What a change of networks does to what can pass. One that nobody has seen is as the kill switch has it. */
export function networksEffect(before: Decisions, after: Decisions): Effect {
  const links = new Set([...linksIn(before), ...linksIn(after)]);
  const effects = deviceEffects(before, after);
  for (const link of links) {
    const [from, to] = [networkIn(before, link), networkIn(after, link)];
    effects.push(exitEffect(from.order, to.order), ...switchEffects(from.record, to.record));
  }
  if (effects.includes("loosens")) return "loosens";
  return effects.includes("tightens") ? "tightens" : "neither";
}

/** A device may have its network's exit before or after, and it may be on any network. */
function deviceEffects(before: Decisions, after: Decisions): Effect[] {
  const hasDefaults = [before, after].some((decisions) =>
    linksIn(decisions).some((link) => networkOrderIn(decisions, link) !== null),
  );
  if (!hasDefaults) return [];
  return devicesOf(changedIn(before.exit, after.exit)).flatMap((id) => {
    const [from, to] = [ownOrderIn(before.exit, id), ownOrderIn(after.exit, id)];
    if (from !== null && to !== null) return [];
    return isBlockedExit(to?.[0]) ? ["tightens" as const] : ["loosens" as const];
  });
}

interface Network {
  record: NetworkRecord;
  order: ExitOrder;
}

function networkIn(decisions: Decisions, link: string): Network {
  const { networks } = decisions;
  const isNew =
    networks !== null &&
    networkOrderIn(decisions, link) === null &&
    !networks.has(link) &&
    !areNewOpen(decisions);
  return {
    record: networks?.get(link) ?? UNSET_NETWORK,
    order: isNew ? asOrder([{ to: "blocked" }]) : orderOfNetwork(decisions, link),
  };
}

/** The networks that have this exit by themselves or by a schedule, alone or among others. */
export function networksOn(exit: string, decisions: Decisions): string[] {
  const has = (order: ExitOrder | null | undefined) => order?.some((each) => formatExit(each) === exit);
  return linksIn(decisions).filter(
    (link) => has(decisions.networks?.get(link)?.exit) || has(networkOrderIn(decisions, link)),
  );
}

/**
 * It tightens if less can leave afterwards, and nothing by another way. A device that was direct is then no longer
 * outside the tunnel.
 */
function exitEffect(from: ExitOrder, to: ExitOrder): Effect {
  if (Bun.deepEquals(from, to)) return "neither";
  const [before, after] = [from, to].map((order) => order.filter((exit) => !isBlockedExit(exit)));
  const isPart = Bun.deepEquals(after, before?.slice(0, after?.length));
  return isOutsideExit(from[0]) || isPart ? "tightens" : "loosens";
}

export function decisionsIn(store: DeviceStorage): Decisions {
  const directAllowed = DIRECT.read(store) === "on";
  const names = new Map<LimitId, string>();
  const exits = new Map<LimitId, ExitOrder>();
  for (const { id: text, name, exit } of store.devices()) {
    const id = parseDeviceId(text);
    if (id === null) continue;
    if (name !== null && isName(name)) names.set(id, name);
    if (exit !== null) exits.set(id, storedExit(exit, directAllowed && mayBeDirect(id)));
  }
  if (store.read(DEFAULT_EXIT.key) !== null)
    exits.set(EVERYBODY_ELSE, asOrder([parseDefaultExit(DEFAULT_EXIT.read(store)) ?? { to: "blocked" }]));
  const networks = readNetworks(store);
  const columns = FIELD_KEYS.flatMap((key) => {
    const { stored } = FIELDS[key] as Field<unknown>;
    return stored === null ? [] : [[key, withKnown(networks, stored.read(store))] as const];
  });
  return {
    ...Object.fromEntries(columns),
    name: { own: names, scheduled: new Map() },
    exit: { own: exits, scheduled: SCHEDULED_EXITS.read(store) },
    networks,
    directAllowed,
    exitsLost: store.read(EXIT_KEYS.lost),
  } as unknown as Decisions;
}

/** What a restore gives a network that nobody knows would hold, and nobody could see it or end it. */
function withKnown<Value>(networks: Networks, { own, scheduled }: Column<Value>): Column<Value> {
  const isKnown = (link: string | null) => link === null || networks?.has(link) === true;
  return { own: new Map([...own].filter(([id]) => isKnown(linkIn(id)))), scheduled };
}

/** Writes what has changed. */
export function saveDecisions(store: DeviceStorage, before: Decisions, after: Decisions): void {
  saveDevices(store, before, after);
  const [former, chosen] = [before, after].map(({ exit }) => exit.own.get(EVERYBODY_ELSE));
  // A first choice that is taken back leaves none.
  if (chosen === undefined && former !== undefined) store.forget(DEFAULT_EXIT.key);
  if (chosen !== undefined && !Bun.deepEquals(former, chosen))
    DEFAULT_EXIT.write(store, formatExit(chosen[0]));
  if (before.exitsLost !== null && after.exitsLost === null) store.forget(EXIT_KEYS.lost);
  if (before.exitsLost === null && after.exitsLost !== null) store.write(EXIT_KEYS.lost, after.exitsLost);
  if (!Bun.deepEquals(before.exit.scheduled, after.exit.scheduled))
    SCHEDULED_EXITS.write(store, after.exit.scheduled);
  if (after.directAllowed && !before.directAllowed) DIRECT.write(store, "on");
  if (before.directAllowed && !after.directAllowed) store.forget(DIRECT.key);
  writeNetworks(store, before.networks, after.networks);
  for (const key of FIELD_KEYS) {
    const { stored } = FIELDS[key] as Field<unknown>;
    stored?.write(store, before[key], after[key]);
  }
}

function saveDevices(store: DeviceStorage, before: Decisions, after: Decisions): void {
  const changed = [...changedIn(before.name, after.name), ...changedIn(before.exit, after.exit)];
  for (const id of devicesOf(changed)) {
    const [former, { name, exit }] = [recordOf(before, id), recordOf(after, id)];
    if (former.name === name && Bun.deepEquals(former.exit, exit)) continue;
    store.saveDevice({ id, name, exit: exit && formatOrder(exit) });
  }
}

function scheduledText(scheduled: Column<ExitOrder>["scheduled"]): string {
  return [...scheduled]
    .map(([id, exit]) => `${id} ${exit === null ? "blocked" : formatOrder(exit)}`)
    .join(",");
}

/** Values that this version cannot read are left out. The schedules set them again. */
function scheduledIn(text: string | null): Column<ExitOrder>["scheduled"] {
  const pairs = (text ?? "").split(",").map((pair) => pair.split(" "));
  return new Map(
    pairs.flatMap(([id = "", exit = ""]) => {
      const [known, parsed] = [parseDeviceId(id) ?? parseLimitId(id), parseDefaultExit(exit)];
      return known === null || parsed === null ? [] : [[known, asOrder([parsed])] as const];
    }),
  );
}

/** Direct is for single devices. The kill switch knows which prefix is one. */
function mayBeDirect(id: DeviceId): boolean {
  return !isPrefixId(id) || isRemoteId(id);
}

/** An exit that this version cannot read, or that is not allowed, means blocked. */
function storedExit(text: string, directAllowed: boolean): ExitOrder {
  const order = parseOrder(text);
  return order === null || (isOutsideExit(order[0]) && !directAllowed) ? asOrder([{ to: "blocked" }]) : order;
}
