/**
 * What is true of the home: one judgement for all who tell it. It is given what the interface answers, and null for
 * what was not asked yet or could not be read.
 */

interface Facts<Row extends TunnelFacts> {
  killswitch: KillSwitchFacts | null;
  tunnels: readonly Row[] | null;
  devices: DeviceFacts | null;
  /** Whether a person is still at the first steps: a device that has sent nothing does not use the gateway yet. */
  isFirstRun?: boolean;
}

export interface KillSwitchFacts {
  /** Whether it was not turned off. */
  wanted: boolean;
  layers: readonly { name: "firewall" | "routing"; holds: boolean }[];
}

export interface TunnelFacts {
  name: string;
  state: "disconnected" | "connecting" | "connected" | "reconnecting" | "failed";
  unanswered: boolean;
  server: string;
  location: string;
  via?: string;
  carrying?: { server: string; location: string; via?: string };
}

export interface DeviceFacts {
  default_exit: string;
  devices: readonly { exit: string; tx_bytes: number }[];
}

/** What the exits of a home do. */
export interface Exits<Row> {
  /** Tunnels that carry the traffic of devices, or would carry that of new ones. */
  carrying: readonly Row[];
  /** Tunnels that should, and do not. */
  silent: readonly Row[];
  /** Tunnels that are being connected or moved. */
  moving: readonly Row[];
  /** How many devices go through a tunnel that carries. */
  through: number;
  /** How many have no internet because their tunnel carries nothing. */
  without: number;
  /** Whether devices, or new ones, have the exit `blocked`. */
  isAnyBlocked: boolean;
}

export type Verdict<Row> =
  /** Something that decides was not read yet. */
  | { name: "unknown" }
  | { name: "exposed"; isOff: boolean }
  /** One layer is gone, and the other one still blocks. */
  | { name: "weakened"; layer: "firewall" | "routing" }
  /** A tunnel is up, and no device uses it. */
  | ({ name: "unused" } & Exits<Row>)
  | ({ name: "protected" } & Exits<Row>)
  /** Some devices have no internet, and others have. */
  | ({ name: "partly" } & Exits<Row>)
  /** A tunnel is being connected; `carrying` has what still carries meanwhile. */
  | ({ name: "moving" } & Exits<Row>)
  /** Tunnels are up, and carry nothing for anybody. */
  | ({ name: "stalled" } & Exits<Row>)
  /** Nothing leaves. */
  | ({ name: "blocked" } & Exits<Row>);

/** The worst that is true. */
export function verdictOf<Row extends TunnelFacts>(facts: Facts<Row>): Verdict<Row> {
  const { killswitch, tunnels, devices } = facts;
  if (killswitch === null) return { name: "unknown" };
  const fallen = killswitch.layers.filter(({ holds }) => !holds).map(({ name }) => name);
  const [layer] = fallen;
  if (!killswitch.wanted || fallen.length > 1) return { name: "exposed", isOff: !killswitch.wanted };
  if (layer !== undefined) return { name: "weakened", layer };
  if (tunnels === null || devices === null) return { name: "unknown" };
  const exits = exitsOf(tunnels, devices);
  return { name: nameOf(exits, isUsed(devices, exits, facts.isFirstRun)), ...exits };
}

function nameOf<Row extends TunnelFacts>({ carrying, silent, moving, without }: Exits<Row>, used: boolean) {
  const isMoving = moving.length > 0;
  if (carrying.length === 0 && silent.some(({ unanswered }) => unanswered)) return "stalled";
  if (carrying.length === 0) return isMoving && without === 0 ? "moving" : "blocked";
  if (without > 0) return "partly";
  if (isMoving) return "moving";
  return used || silent.length > 0 ? "protected" : "unused";
}

function exitsOf<Row extends TunnelFacts>(all: readonly Row[], devices: DeviceFacts): Exits<Row> {
  const exits = [devices.default_exit, ...devices.devices.map(({ exit }) => exit)];
  const tunnels = all.filter(({ name }) => exits.includes(name)).map(standingOf);
  const carrying = tunnels.filter(carries);
  const silent = tunnels.filter((row) => !carries(row));
  // A device of a tunnel that is connected for the first time waits for it.
  const lacking = silent.filter(({ state }) => state !== "connecting");
  return {
    carrying,
    silent,
    moving: all.filter(({ name, state }) => exits.includes(name) && state === "connecting"),
    through: usersOf(carrying, devices),
    without: usersOf(lacking, devices),
    isAnyBlocked: exits.includes("blocked"),
  };
}

function usersOf(tunnels: readonly TunnelFacts[], { devices }: DeviceFacts): number {
  return devices.filter(({ exit }) => tunnels.some(({ name }) => name === exit)).length;
}

function isUsed<Row>({ devices }: DeviceFacts, { through }: Exits<Row>, isFirstRun = false): boolean {
  return through > 0 && !(isFirstRun && devices.every(({ tx_bytes }) => tx_bytes === 0));
}

/** Whether what devices send into it is answered. */
export function carries({ state, unanswered }: Pick<TunnelFacts, "state" | "unanswered">): boolean {
  return state === "connected" && !unanswered;
}

/** A tunnel as its devices have it: while it moves, they still go through its former server. */
export function standingOf<Row extends TunnelFacts>(row: Row): Row {
  const { via: _, ...rest } = row;
  return row.carrying === undefined ? row : ({ ...rest, ...row.carrying, state: "connected" } as Row);
}
