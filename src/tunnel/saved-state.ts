import { type Static, Type } from "typebox";
import { type Address, parseAddress } from "../base/address.ts";
import { Name } from "../base/name.ts";
import { savedJson, savedNumber } from "../base/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { MAIN_SLOT } from "../network/slot.ts";
import { stricter } from "../servers/quantum.ts";
import { Provider, type Quantum, Relayed } from "../servers/schema.ts";
import type { ServerPath } from "../servers/ways.ts";
import { SettingsCache } from "../store/settings-cache.ts";
import { TIME_KEYS } from "../store/times.ts";
import {
  CONNECTION,
  type Connection,
  LATEST_MS,
  type SavedTunnel,
  savedTunnelsIn,
  tunnelKey,
} from "./connection.ts";
import { SESSION_ENDS_MS } from "./health.ts";
import { KEY_WISHES } from "./key-wishes.ts";
import { addressKey, MAX_ADDRESSES, nameInKey } from "./known-addresses.ts";
import { isLeftOf, LAST, type Last, lastOf } from "./last.ts";

const MAX_RECENT = 10;
const Recent = Type.Object({
  provider: Provider,
  name: Name,
  via: Type.Optional(Name),
  since: Type.Number({ minimum: 0, maximum: LATEST_MS }),
});
type Recent = Static<typeof Recent>;
/** The last servers that `main` was connected to, the latest first; not part of a backup. */
const RECENT = savedJson("recent", Type.Array(Recent, { maxItems: MAX_RECENT }), []);

/** A gateway that travels meets many networks. */
const MAX_PATHS = 20;

/** The longest packets that a path carries, in bytes, by uplink. */
const PATHS = savedJson(
  "path_mtus",
  Type.Record(Type.String(), Type.Integer({ minimum: 0, maximum: 65535 }), { maxProperties: MAX_PATHS }),
  {},
);
/** How a server was last reached if not by plain WireGuard at its usual port, by uplink. */
const WAYS = savedJson(
  "server_ways",
  Type.Record(
    Type.String(),
    Type.Object({
      port: Type.Integer({ minimum: 1, maximum: 65535 }),
      transport: Type.Optional(Relayed),
    }),
    { maxProperties: MAX_PATHS },
  ),
  {},
);

/** When the last known handshake completed, in milliseconds since 1970. */
const HANDSHAKE = savedNumber(TIME_KEYS.handshake);

/** The machine's clock when a tunnel was last up, in milliseconds since 1970. */
export const CLOCK = savedNumber(TIME_KEYS.clock);
/**
 * How late the saved time may be, and so how far ahead the clock may be after a power cut: as long as a session lasts. Time
 * synchronisation then moves it back, and the server accepts the next handshake before the session ends.
 */
export const CLOCK_EVERY_MS = SESSION_ENDS_MS;

/**
 * The part of the tunnels' state that survives a restart. The kernel is asked first; this only says which server it was.
 * It works without the disk, because a tunnel does not need one.
 */
export class SavedState extends SettingsCache {
  /** Requires what the tunnel's wish does, even if it comes from the backup of a gateway that did not. */
  connection(tunnel: string = MAIN): Connection | null {
    const saved = tunnel === MAIN ? CONNECTION.read(this) : this.tunnels().get(tunnel)?.connection;
    if (saved == null) return null;
    return this.keys().get(tunnel) === "require" ? { ...saved, quantum: "require" } : saved;
  }

  /** A tunnel other than `main` is first saved when it has a server. */
  saveConnection(connection: Connection | null, tunnel: string = MAIN, slot: number = MAIN_SLOT): void {
    // The former one may be all that has its wish for keys: of a backup, or of a process that has just ended.
    this.saveQuantum(this.quantum(tunnel), tunnel);
    this.noteLast(tunnel, this.lastAfter(connection, tunnel));
    if (tunnel === MAIN) {
      if (connection !== null) this.addRecent(connection);
      CONNECTION.write(this, connection);
    } else if (connection !== null || this.tunnels().has(tunnel))
      this.saveTunnel(tunnel, { slot, connection });
  }

  /** The last servers that `main` was connected to, the latest first; not part of a backup. */
  recent(): readonly Recent[] {
    return RECENT.read(this);
  }

  /** Saved in the same write as the connection, so that it needs no write of its own. */
  private addRecent({ provider, name, via, since }: Connection): void {
    const others = this.recent().filter(
      (each) => each.provider !== provider || each.name !== name || each.via !== via,
    );
    const latest = { ...{ provider, name, since }, ...(via !== undefined && { via }) };
    this.note(RECENT.key, RECENT.format([latest, ...others].slice(0, MAX_RECENT)));
  }

  dropRecent(isGone: (recent: Recent) => boolean): void {
    const recent = this.recent();
    const others = recent.filter((each) => !isGone(each));
    if (others.length < recent.length) RECENT.write(this, others);
  }

  /** Where a tunnel leads, or led last, as a connect takes it; null if it never led anywhere. */
  last(tunnel: string): Last | null {
    const last = this.lasts().get(tunnel) ?? null;
    const connection = this.connection(tunnel);
    if (connection === null) return last;
    // What another version, or a backup, has brought is later.
    const present = lastOf(connection);
    return last !== null && isLeftOf(last, present) ? last : present;
  }

  /** What is kept of that, by tunnel. */
  lasts(): Map<string, Last> {
    return new Map(Object.entries(LAST.read(this)));
  }

  saveLast(tunnel: string, last: Last | null): void {
    this.noteLast(tunnel, last);
    this.save();
  }

  /** What is last once a tunnel has this connection. Of the same wish, what was dropped meanwhile stays dropped. */
  private lastAfter(connection: Connection | null, tunnel: string): Last | null {
    const former = this.connection(tunnel);
    const isSame = (other: Connection) =>
      former !== null && Bun.deepEquals(lastOf(former), lastOf(other), true);
    return connection === null || isSame(connection) ? this.last(tunnel) : lastOf(connection);
  }

  /** Saved in the same write as the connection. */
  private noteLast(tunnel: string, last: Last | null): void {
    const lasts = this.lasts();
    if (Bun.deepEquals(lasts.get(tunnel) ?? null, last, true)) return;
    lasts.delete(tunnel);
    if (last !== null) lasts.set(tunnel, last);
    this.note(LAST.key, LAST.format(Object.fromEntries(lasts)));
  }

  /** The tunnels other than `main`, by name. */
  tunnels(): Map<string, SavedTunnel> {
    return savedTunnelsIn(this.all);
  }

  saveTunnel(name: string, tunnel: SavedTunnel): void {
    this.write(tunnelKey(name), JSON.stringify(tunnel));
  }

  forgetTunnel(name: string): void {
    this.saveQuantum("off", name);
    this.noteLast(name, null);
    this.drop(tunnelKey(name));
    this.save();
  }

  /** What was last asked for of the keys of a tunnel, alone or with the connection. */
  quantum(tunnel: string): Quantum {
    return stricter(this.keys().get(tunnel), this.connection(tunnel)?.quantum);
  }

  saveQuantum(quantum: Quantum, tunnel: string): void {
    const keys = this.keys();
    if ((keys.get(tunnel) ?? "off") === quantum) return;
    keys.delete(tunnel);
    if (quantum !== "off") keys.set(tunnel, quantum);
    KEY_WISHES.write(this, Object.fromEntries(keys));
  }

  private keys(): Map<string, Exclude<Quantum, "off">> {
    return new Map(Object.entries(KEY_WISHES.read(this)));
  }

  /** When the last known handshake completed, in milliseconds since 1970. */
  handshake(): number | null {
    return HANDSHAKE.read(this);
  }

  /** It is saved with the next write. */
  saveHandshake(at: number): void {
    this.note(HANDSHAKE.key, HANDSHAKE.format(Math.round(at)));
  }

  /** The machine's clock when a tunnel was last up, in milliseconds since 1970. */
  clock(): number | null {
    return CLOCK.read(this);
  }

  /**
   * To be called only while a tunnel is up, because then its server has accepted the time, even an earlier one. Skips
   * most calls, and saves the last handshake together with the time: each write wears the memory card.
   */
  saveClock(now: number, handshake: number): void {
    const before = this.clock();
    if (before !== null && Math.abs(now - before) < CLOCK_EVERY_MS) return;
    if (handshake > 0) this.saveHandshake(handshake);
    CLOCK.write(this, Math.round(now));
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
    PATHS.write(this, Object.fromEntries([...paths].slice(-MAX_PATHS)));
  }

  private paths(): Map<string, number> {
    return new Map(Object.entries(PATHS.read(this)));
  }

  /** How servers are reached from an uplink that blocks their usual port; null if it is not known to. */
  serverWay(uplink: string): ServerPath | null {
    return this.ways().get(uplink) ?? null;
  }

  hasServerWays(): boolean {
    return this.ways().size > 0;
  }

  saveServerWay(uplink: string, way: ServerPath | null): void {
    if (Bun.deepEquals(this.serverWay(uplink), way)) return;
    const ways = this.ways();
    ways.delete(uplink);
    if (way !== null) ways.set(uplink, way);
    WAYS.write(this, Object.fromEntries([...ways].slice(-MAX_PATHS)));
  }

  private ways(): Map<string, ServerPath> {
    return new Map(Object.entries(WAYS.read(this)));
  }

  /** The last address that a name resolved to. */
  address(name: string): Address | null {
    return parseAddress(this.read(addressKey(name)) ?? "");
  }

  saveAddress(name: string, address: Address): void {
    if (this.address(name) === address) return;
    const key = addressKey(name);
    const others = Object.keys(this.all).filter((each) => nameInKey(each) !== null && each !== key);
    // The values of this start come last.
    for (const other of others.slice(0, Math.max(0, others.length + 1 - MAX_ADDRESSES))) this.drop(other);
    this.write(key, address);
  }
}
