import { say } from "../language.ts";
import type { HomeNow, Look, PicturedDevice, PicturedExit, PicturedRule } from "./home-now.ts";

/** Up to here each device has a row; beyond it there is one for each group. */
const MAX_SINGLE = 8;
/** Beyond it the smallest groups share a row. */
const MAX_ROWS = 10;
/** A quiet home is to look quiet: a line is as wide as it can be from here on. */
const FULL_WIDTH_BITS = 10_000_000;
const IDLE_WIDTH = 1.5;
/** One line is no wider than this part of what all have together. */
const WIDEST_PART = 2.6;

/** A row at the left: a device, or a group with its devices. */
export interface Row {
  id: string;
  title: string;
  devices: readonly PicturedDevice[];
  strands: readonly Strand[];
  isRemote: boolean;
  isGroup: boolean;
  /** Whether the group's devices follow, in rows of their own. */
  isOpen: boolean;
  /** Whether it is such a device. */
  isInner: boolean;
  rate: number;
}

/** An opening in the gate, for an exit or for a rule. */
export interface Lane {
  id: string;
  exit: PicturedExit;
  rule: PicturedRule | null;
  look: Look;
  /** The width of all that goes through it. */
  width: number;
  /** How many devices go through it. */
  count: number;
}

/** What goes from a row to a lane. */
export interface Strand {
  id: string;
  row: string;
  lane: string;
  look: Look;
  count: number;
  rate: number;
  width: number;
  isRemote: boolean;
}

export interface Model {
  rows: readonly Row[];
  lanes: readonly Lane[];
}

/** `open` is the group that is unfolded; all lines together have at most `budget` pixels. */
export function modelOf(home: HomeNow, open: string | null, budget: number): Model {
  const exits = exitsOf(home);
  const order = new Map(exits.map(({ id }, at) => [id, at]));
  const looks = new Map(exits.map(({ id, look }) => [id, look]));
  const rows = unfolded(groupsOf(home, order), open, order).map((row) => strandsOf(row, order, looks));
  const widths = widthsFor(
    rows.flatMap(({ strands }) => strands),
    budget,
  );
  const drawn = rows.map((row) => ({
    ...row,
    strands: row.strands.map((each) => ({ ...each, width: widths(each) })),
  }));
  return { rows: drawn, lanes: lanesOf(exits, home, drawn) };
}

/** In an order that traffic does not change: the default exit, other tunnels by name, outside, blocked. */
function exitsOf({ exits, devices, rules }: HomeNow): PicturedExit[] {
  const used = new Set([...devices.map(({ exit }) => exit), ...rules.map(({ exit }) => exit)]);
  const rank = ({ isTunnel, isDefault, look }: PicturedExit) =>
    isTunnel ? (isDefault ? 0 : 1) : look === "closed" ? 3 : 2;
  return exits
    .filter((each) => used.has(each.id) || (each.isTunnel && each.isDefault))
    .toSorted((one, two) => rank(one) - rank(two) || one.name.localeCompare(two.name));
}

function lanesOf(exits: readonly PicturedExit[], { rules }: HomeNow, rows: readonly Row[]): Lane[] {
  const strands = rows.flatMap((row) => row.strands);
  return exits.flatMap((exit) => {
    const own = strands.filter(({ lane }) => lane === exit.id);
    const width = own.reduce((sum, each) => sum + each.width, 0);
    const count = own.reduce((sum, each) => sum + each.count, 0);
    const lane: Lane = { id: exit.id, exit, rule: null, look: exit.look, width, count };
    const led = rules.filter((rule) => rule.exit === exit.id);
    const beside = led.map(
      (rule): Lane => ({ ...lane, id: `${exit.id}/${rule.id}`, rule, width: 2, count: 0 }),
    );
    return [lane, ...beside];
  });
}

type Order = ReadonlyMap<string, number>;
type Group = Omit<Row, "strands">;

function groupsOf({ devices }: HomeNow, order: Order): Group[] {
  const groups =
    devices.length <= MAX_SINGLE
      ? devices.map((device) => [device])
      : [...Map.groupBy(devices, keyOf).values()];
  const rows = groups.map((each) => groupOf(each));
  const first = ({ devices: [one] }: Group) => order.get(one?.exit ?? "") ?? 0;
  return merged(rows).toSorted(
    (one, two) =>
      Number(one.isRemote) - Number(two.isRemote) ||
      Number(isRest(one)) - Number(isRest(two)) ||
      first(one) - first(two) ||
      one.title.localeCompare(two.title),
  );
}

/** Kinds of devices are groups for those that belong to nobody. */
function keyOf({ isRemote, group, icon }: PicturedDevice): string {
  return isRemote ? REMOTE : group !== "" ? `group ${group}` : `kind ${icon}`;
}

/** No tunnel can have such a name, so no row is taken for a lane. */
const REMOTE = "/remote";
const REST = "/rest";

function isRest({ id }: Group): boolean {
  return id === REST || id === "kind other";
}

function groupOf(devices: readonly PicturedDevice[]): Group {
  const [one] = devices;
  const isSingle = devices.length === 1;
  const rate = devices.reduce((sum, each) => sum + each.rate, 0);
  const key = one === undefined ? "" : keyOf(one);
  return {
    id: isSingle ? (one?.id ?? "") : key,
    title: one === undefined ? "" : isSingle ? one.title : titleFor(one),
    devices: devices.toSorted((a, b) => a.title.localeCompare(b.title)),
    isRemote: one?.isRemote === true,
    isGroup: !isSingle,
    isOpen: false,
    isInner: false,
    rate,
  };
}

function titleFor({ isRemote, group, icon }: PicturedDevice): string {
  if (isRemote) return say("Away from home");
  return group !== "" ? group : (KINDS[icon as keyof typeof KINDS] ?? say("Other devices"));
}

const KINDS = {
  phone: say("Phones"),
  device: say("Laptops"),
  tv: say("TVs"),
  camera: say("Cameras"),
  console: say("Games consoles"),
  printer: say("Printers"),
  speaker: say("Speakers"),
};

/** The smallest groups of a home with many share a row. */
function merged(rows: readonly Group[]): Group[] {
  const inside = rows.filter(({ isRemote }) => !isRemote);
  const excess = inside.length - MAX_ROWS;
  if (excess <= 0) return [...rows];
  const small = inside
    .toSorted((one, two) => one.devices.length - two.devices.length || one.title.localeCompare(two.title))
    .slice(0, excess + 1);
  const rest = groupOf(small.flatMap(({ devices }) => devices));
  const title = say("{count} smaller groups", { count: small.length });
  return [...rows.filter((row) => !small.includes(row)), { ...rest, id: REST, title, isGroup: true }];
}

/** An unfolded group keeps its place: its devices follow it. */
function unfolded(rows: readonly Group[], open: string | null, order: Order): Group[] {
  return rows.flatMap((row) => {
    if (!row.isGroup || row.id !== open) return [row];
    const exitOf = ({ exit }: PicturedDevice) => order.get(exit) ?? 0;
    const inner = row.devices
      .toSorted((one, two) => exitOf(one) - exitOf(two))
      .map((device) => ({ ...groupOf([device]), isInner: true }));
    return [{ ...row, isOpen: true }, ...inner];
  });
}

function strandsOf(row: Group, order: Order, looks: ReadonlyMap<string, Look>): Row {
  if (row.isOpen) return { ...row, strands: [] };
  const byExit = [...Map.groupBy(row.devices, ({ exit }) => exit)].toSorted(
    ([one], [two]) => (order.get(one) ?? 0) - (order.get(two) ?? 0),
  );
  const strands = byExit.map(
    ([lane, devices]): Strand => ({
      id: `${row.id} ${lane}`,
      row: row.id,
      lane,
      look: looks.get(lane) ?? "closed",
      count: devices.length,
      rate: devices.reduce((sum, { rate }) => sum + rate, 0),
      width: 0,
      isRemote: row.isRemote,
    }),
  );
  return { ...row, strands };
}

/** By the square root of the rate, so that 100 kbit/s is seen beside 30 Mbit/s; what carries nothing has its count. */
function widthsFor(strands: readonly Strand[], budget: number): (strand: Strand) => number {
  const rates = strands.map(({ rate }) => rate);
  const roots = rates.reduce((sum, rate) => sum + Math.sqrt(rate), 0);
  const room = Math.max(budget - 2 * rates.length, budget / 3);
  const full = budget / WIDEST_PART / Math.sqrt(Math.max(FULL_WIDTH_BITS, ...rates));
  const factor = roots === 0 ? 0 : Math.min(room / roots, full);
  return ({ rate, look, count }) =>
    look === "closed" || look === "silent"
      ? IDLE_WIDTH + Math.min(2.5, count / 6)
      : rate === 0
        ? IDLE_WIDTH
        : 2 + factor * Math.sqrt(rate);
}
