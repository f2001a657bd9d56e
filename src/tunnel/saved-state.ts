import { type Static, Type } from "typebox";
import { type Address, parseAddress } from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { codeOf, GatewayError, messageOf } from "../base/errors.ts";
import { INTERFACE_NAME } from "../base/interface-name.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { Alarm } from "../killswitch/repairs.ts";
import { NO_ROLES, type Roles } from "../network/lan.ts";
import { MAIN_SLOT, MAX_TUNNELS } from "../network/slot.ts";
import { Provider } from "../servers/schema.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { Config } from "../wireguard/schema.ts";
import { isTunnelName } from "./name.ts";

/** The value is printed to terminals. */
const Shown = Type.String({ pattern: "^[^\\p{Cc}\\p{Cf}]{0,256}$" });
const Assigned = Type.Object({
  label: Shown,
  country: Shown,
  city: Shown,
  location: Shown,
  config: Config,
});

/** The server that a tunnel leads to. */
export const Connection = Type.Object({
  provider: Provider,
  name: Type.String(),
  /** The server through which it is reached, if any. */
  via: Type.Optional(Type.String()),
  /** What was requested, if it was a country or a city. */
  wanted: Type.Optional(Type.String()),
  /** The same for `via`. */
  wanted_via: Type.Optional(Type.String()),
  /** The server, if its provider assigned the configuration for this connection only. */
  assigned: Type.Optional(Assigned),
  /** Milliseconds since 1970. */
  since: Type.Number(),
});
export type Connection = Static<typeof Connection>;
const connectionSchema = checkerOf(Connection);

/** The last date that JavaScript can write (ECMA-262, 21.4.1.1). */
const LATEST_MS = 8.64e15;
const Recent = Type.Object({
  provider: Provider,
  name: Type.String(),
  via: Type.Optional(Type.String()),
  since: Type.Number({ minimum: 0, maximum: LATEST_MS }),
});
type Recent = Static<typeof Recent>;
const recentSchema = checkerOf(Type.Array(Recent));
const MAX_RECENT = 10;

/** A tunnel other than `main`, which has a setting of its own. */
const SavedTunnel = Type.Object({
  slot: Type.Integer({ exclusiveMinimum: MAIN_SLOT, exclusiveMaximum: MAX_TUNNELS }),
  connection: Type.Union([Connection, Type.Null()]),
});
export type SavedTunnel = Static<typeof SavedTunnel>;
const savedTunnelSchema = checkerOf(SavedTunnel);

const rolesSchema = checkerOf(
  Type.Object({ lan: Type.Array(Type.String()), outside: Type.Array(Type.String()) }),
);

/** The longest packets that a path carries, in bytes, by uplink. */
const pathsSchema = checkerOf(Type.Record(Type.String(), Type.Integer({ minimum: 0, maximum: 65535 })));
/** A gateway that travels meets many networks. */
const MAX_PATHS = 20;

/** Anyone on the LAN can add servers with new names again and again, so disk and memory are limited. */
const MAX_ADDRESSES = 1_000;

/** WireGuard makes a handshake every two minutes, but each write wears the memory card. */
const HANDSHAKES_EVERY_MS = 15 * 60_000;

/** How late the saved time may be. Once a minute wears a memory card by less than 20 MB a day. */
export const CLOCK_EVERY_MS = 60_000;

/** The pause between two attempts to save; each attempt waits for the disk. */
const SAVE_AGAIN_MS = 5_000;

/**
 * The part of the tunnel's state that survives a restart. The kernel is asked first; this only says which server it
 * was. It is read once, and works without the disk afterwards, because a tunnel does not need one.
 */
export class SavedState {
  private failure: GatewayError | null = null;
  private values: Record<string, string>;
  private readonly unsaved = new Set<string>();

  constructor(
    private readonly store: Store,
    private readonly alarm: Alarm,
  ) {
    this.values = store.settings();
  }

  /** Why the latest changes are not saved, or null. */
  get trouble(): string | null {
    return this.failure?.message ?? null;
  }

  /** Reads the store again after another writer has changed it; discards what was not saved. */
  reload(): void {
    this.unsaved.clear();
    this.values = this.store.settings();
  }

  /** Whether the operator wants the kill switch; true unless it was turned off. */
  killSwitchWanted(): boolean {
    return this.values.killswitch !== "off";
  }

  /**
   * Throws if it is to be turned off and that cannot be saved, because a restart would turn it on again unexpectedly.
   */
  saveKillSwitch(wanted: boolean): void {
    if (!wanted) this.store.write("killswitch", "off");
    this.keep("killswitch", wanted ? "on" : "off");
  }

  connection(tunnel: string = MAIN): Connection | null {
    if (tunnel === MAIN) return connectionIn(this.values.connection ?? "null");
    return this.tunnels().get(tunnel)?.connection ?? null;
  }

  /** A tunnel other than `main` is first saved when it has a server. */
  saveConnection(connection: Connection | null, tunnel: string = MAIN, slot: number = MAIN_SLOT): void {
    if (tunnel === MAIN) {
      if (connection !== null) this.addRecent(connection);
      this.keep("connection", JSON.stringify(connection));
    } else if (connection !== null || this.tunnels().has(tunnel))
      this.saveTunnel(tunnel, { slot, connection });
  }

  /** The last servers that `main` was connected to, the latest first; not part of a backup. */
  recent(): Recent[] {
    const value = valueIn(this.values.recent ?? "[]");
    return recentSchema.Check(value) ? value : [];
  }

  /** Saved in the same write as the connection, so that it needs no write of its own. */
  private addRecent({ provider, name, via, since }: Connection): void {
    const others = this.recent().filter(
      (each) => each.provider !== provider || each.name !== name || each.via !== via,
    );
    const latest = { provider, name, ...(via !== undefined && { via }), since };
    const recent = [latest, ...others].slice(0, MAX_RECENT);
    this.values.recent = JSON.stringify(recent);
    this.unsaved.add("recent");
  }

  /** The tunnels other than `main`, by name. */
  tunnels(): Map<string, SavedTunnel> {
    return savedTunnelsIn(this.values);
  }

  saveTunnel(name: string, tunnel: SavedTunnel): void {
    this.keep(tunnelKey(name), JSON.stringify(tunnel));
  }

  forgetTunnel(name: string): void {
    this.drop(tunnelKey(name));
    this.save();
  }

  /** When the last known handshake completed, in milliseconds since 1970. */
  handshake(): number | null {
    const at = Number(this.values.handshake ?? "none");
    return Number.isFinite(at) ? at : null;
  }

  /** Skips most handshakes, to write rarely. */
  saveHandshake(at: number): void {
    const before = this.handshake();
    // If the clock was set back by much, the earlier date replaces the later one.
    if (before !== null && Math.abs(at - before) < HANDSHAKES_EVERY_MS) return;
    this.keep("handshake", String(Math.round(at)));
  }

  /** The machine's clock when a tunnel was last up, in milliseconds since 1970. */
  clock(): number | null {
    const at = Number(this.values.clock ?? "none");
    return Number.isFinite(at) ? at : null;
  }

  /** To be called only while a tunnel is up, because then its server has accepted the time, even an earlier one. */
  saveClock(now: number): void {
    const before = this.clock();
    if (before !== null && Math.abs(now - before) < CLOCK_EVERY_MS) return;
    this.keep("clock", String(Math.round(now)));
  }

  /** Which interfaces were the LAN's and which the uplink; specific to this machine, so not part of a backup. */
  roles(): Roles {
    const value = valueIn(this.values.roles ?? "null");
    return rolesSchema.Check(value) ? value : NO_ROLES;
  }

  saveRoles(roles: Roles): void {
    this.keep("roles", JSON.stringify(roles));
  }

  /** The last interface with a default route, if the gateway works with its name. */
  uplink(): string | null {
    const { uplink = "" } = this.values;
    return INTERFACE_NAME.test(uplink) ? uplink : null;
  }

  saveUplink(uplink: string): void {
    this.keep("uplink", uplink);
  }

  /**
   * The longest packet that is known to get from an uplink to a server and back, in bytes; null if it is unknown or the
   * uplink's own MTU. Specific to this machine's network, so not part of a backup.
   */
  pathMtu(uplink: string): number | null {
    return this.paths().get(uplink) ?? null;
  }

  savePathMtu(uplink: string, bytes: number | null): void {
    const paths = this.paths();
    paths.delete(uplink);
    if (bytes !== null) paths.set(uplink, bytes);
    this.keep("path_mtus", JSON.stringify(Object.fromEntries([...paths].slice(-MAX_PATHS))));
  }

  private paths(): Map<string, number> {
    const value = valueIn(this.values.path_mtus ?? "{}");
    return new Map(pathsSchema.Check(value) ? Object.entries(value) : []);
  }

  /** The last address that a name resolved to. */
  address(name: string): Address | null {
    return parseAddress(this.values[`address ${name}`] ?? "");
  }

  saveAddress(name: string, address: Address): void {
    if (this.address(name) === address) return;
    const key = `address ${name}`;
    const others = Object.keys(this.values).filter((each) => each.startsWith("address ") && each !== key);
    // The values of this start come last.
    for (const other of others.slice(0, Math.max(0, others.length + 1 - MAX_ADDRESSES))) this.drop(other);
    this.keep(key, address);
  }

  /** Saves what is not saved yet; raises an alert if that fails. */
  save(): void {
    try {
      this.store.reopen();
      if (this.unsaved.size > 0) this.store.atomically(() => this.writeAll());
      this.unsaved.clear();
      this.tell(null);
    } catch (error) {
      this.tell(new GatewayError(codeOf(error), `${messageOf(error)} ${FORGETFUL}`));
    }
  }

  assertSaved(): void {
    if (this.failure !== null) throw this.failure;
  }

  /** Retries what could not be saved, until `signal` aborts. */
  async keepSaving(clock: Pick<Host, "sleep">, signal: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(SAVE_AGAIN_MS, signal);
      if (signal.aborted) return;
      this.save();
    }
  }

  private keep(key: string, value: string): void {
    this.values[key] = value;
    this.unsaved.add(key);
    this.save();
  }

  private drop(key: string): void {
    delete this.values[key];
    this.unsaved.add(key);
  }

  private writeAll(): void {
    for (const key of this.unsaved) {
      const value = this.values[key];
      if (value === undefined) this.store.forget(key);
      else this.store.write(key, value);
    }
  }

  private tell(failure: GatewayError | null): void {
    const before = this.failure;
    this.failure = failure;
    if (failure !== null && before === null) this.alarm("state_not_saved", failure.message);
    if (failure === null && before !== null) this.alarm("state_saved", "The database can be written again.");
  }
}

const FORGETFUL =
  "The gateway works without it, but a restart would lose the changes made meanwhile; it keeps trying to save them.";

/** Null if the text is not a valid connection. */
export function connectionIn(text: string): Connection | null {
  const value = valueIn(text);
  return connectionSchema.Check(value) ? value : null;
}

/** Those of the settings that are valid; a slot belongs to one tunnel. */
export function savedTunnelsIn(settings: Readonly<Record<string, string>>): Map<string, SavedTunnel> {
  const tunnels = new Map<string, SavedTunnel>();
  for (const [key, text] of Object.entries(settings)) {
    const name = TUNNEL_KEY.exec(key)?.[1];
    if (name === undefined || !isTunnelName(name)) continue;
    const saved = valueIn(text);
    if (!savedTunnelSchema.Check(saved)) continue;
    if ([...tunnels.values()].every(({ slot }) => slot !== saved.slot)) tunnels.set(name, saved);
  }
  return tunnels;
}

/** The setting in which a tunnel other than `main` is saved. */
export function tunnelKey(name: string): string {
  return `tunnel ${name}`;
}

const TUNNEL_KEY = /^tunnel (.*)$/;

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
