import type { Address } from "../address.ts";
import { familyOf } from "../address.ts";
import type { Devices } from "../devices/devices.ts";
import { GatewayError, messageOf } from "../errors.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { Log } from "../log.ts";
import { type Mac, parseMac } from "../mac.ts";
import type { Lan } from "../network/lan.ts";
import { Queue } from "../queue.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import type { Session } from "../tunnel/session.ts";
import type { Tunnels } from "../tunnels/tunnels.ts";
import { Addresses } from "./addresses.ts";
import { contactOf, type GivenId, type Held, idIn, partOf, rowOf, type Until } from "./held.ts";
import { Keeper, type Opened, type Place } from "./keeper.ts";
import { type Opener, type OpenPort, PortRefusal, type WantedPort, type Way } from "./opener.ts";
import { placeOf } from "./place.ts";
import type { GrantedPort, PortRequest } from "./request.ts";
import { type ForwardId, forwardsIn, KEY, keyOf, MOST_FORWARDS, type SavedForward, textOf } from "./saved.ts";
import type { Forward, ForwardChange } from "./schema.ts";

interface Deps {
  host: Pick<Host, "run" | "sleep" | "now" | "monotonic">;
  store: { read(key: string): string | null; write(key: string, value: string): void };
  killSwitch: { update(owner: string, part: PolicyPart): Promise<void>; readonly lans: readonly Lan[] };
  devices: Pick<
    Devices,
    "exitOf" | "addressesOf" | "chosenAddressOf" | "holderOf" | "ownerOf" | "rowsOf" | "keep" | "onChange"
  >;
  tunnels: Pick<Tunnels, "all" | "onTunnel" | "onRemoved">;
  /** How a port is opened at a server. Throws `PortRefusal` if its provider opens none. */
  openerFor: (server: Server, fixed: number | null) => Opener;
  publish: (forward: Forward) => void;
  publishRemoved: (id: ForwardId) => void;
  log: Pick<Log, "info" | "warn">;
}

/** The owner of the forwards in the kill switch; never a tunnel's name. */
const OWNER = "FORWARDS";
/** Devices ask by themselves, and any program on them can. */
const MOST_OF_DEVICE = 8;
/** As long as a person waits for an answer; the work goes on. */
const RESULT_WITHIN_MS = 10_000;
/** RFC 6886, 3.3, recommends 2 h. */
const LONGEST_LIFETIME_MS = 86_400_000;
/** How long a port may stay open after a device's request has ended. */
const LOOK_EACH_MS = 5_000;
/** Until a device is seen that only listens, the LAN is asked for it. */
const ASK_EACH_MS = 30_000;
/** A port that is led on to port 53 of a device would be dropped as DNS outside a tunnel. */
const DNS_PORT = 53;
const LOST_WITHIN_MS = 5_000;
/** Any device may ask as often as it likes, and each question to a provider changes the firewall twice. */
const ADDRESS_KEPT_MS = 10_000;

/** The ports of the internet that lead to devices: what people and devices ask for, and what providers open. */
export class Forwards {
  private readonly held = new Map<string, Held>();
  private readonly queues = new Map<string, Queue>();
  /** The devices of people's forwards: what a device asks for itself keeps nobody. */
  private needed: ReadonlySet<Mac> = new Set();
  private readonly addresses: Addresses;
  /** Whose public address is being asked for. */
  private readonly asking = new Set<Pick<Opened, "way" | "opener">>();
  /** What was answered last. */
  private readonly answered = new WeakMap<Session, { at: number; answer: Promise<Address | null> }>();
  private isLoaded = false;
  /** What the kill switch was given last, and when it has it; null if that failed. */
  private part: PolicyPart | null = { forwards: [], contacts: [] };
  private applied: Promise<void> = Promise.resolve();

  constructor(private readonly deps: Deps) {
    const { devices, host, killSwitch, tunnels } = deps;
    this.addresses = new Addresses({
      host,
      seen: (device) => devices.addressesOf(device),
      isOthers: (device, address) => ![null, device].includes(devices.ownerOf(address) as Mac | null),
      lans: () => killSwitch.lans,
    });
    const look = () => this.look();
    tunnels.onTunnel(({ controller }) => controller.onChange(look));
    tunnels.onRemoved(look);
    devices.onChange(look);
    devices.keep((mac) => this.needed.has(mac));
  }

  /** Opens the ports that people have asked for; to be called when the tunnels have started, and after a restore. */
  async load(): Promise<void> {
    this.isLoaded = true;
    const saved = forwardsIn(this.deps.store.read(KEY));
    const keys = new Set(saved.map(keyOf));
    const gone = [...this.held].filter(([key, { until }]) => until === null && !keys.has(key));
    await Promise.all(gone.map(([, held]) => this.end(held)));
    for (const each of saved) await this.take(each, null);
  }

  /** By device, protocol and port. */
  async list(): Promise<Forward[]> {
    const all = [...this.held].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, held]) => held);
    return this.rowsOf(all);
  }

  /** Opens a port for a person, or changes its external port; resolves with what came of it. */
  async put(given: GivenId, { external = null }: ForwardChange): Promise<Forward> {
    const id = idIn(given);
    const present = this.held.get(keyOf(id));
    if (id.port === DNS_PORT)
      throw new GatewayError(
        "bad_request",
        "port: the kill switch keeps port 53, DNS, inside the tunnels; choose another port of the device",
      );
    // Devices must not use up what people may have.
    const { saved: others } = this;
    if (others.length >= MOST_FORWARDS && !others.some((each) => keyOf(each) === keyOf(id)))
      throw new GatewayError(
        "bad_request",
        `port: there are ${MOST_FORWARDS} forwards, which is the most there may be; remove one first`,
      );
    const saved = { ...id, fixed: external, address: present?.address ?? null };
    this.save([...others.filter((each) => keyOf(each) !== keyOf(id)), saved]);
    const held = await this.take(saved, null);
    await Promise.race([held.keeper.tried, this.deps.host.sleep(RESULT_WITHIN_MS)]);
    const [row] = await this.rowsOf([held]);
    if (row === undefined) throw new GatewayError("interrupted", "the forward was removed meanwhile");
    return row;
  }

  async remove(given: GivenId): Promise<void> {
    const held = this.held.get(keyOf(idIn(given)));
    if (held === undefined)
      throw new GatewayError("not_found", "there is no such forward; to list them: portcullis forwards");
    if (held.until === null) this.save(this.saved.filter((each) => keyOf(each) !== keyOf(held)));
    await this.end(held);
  }

  /** Opens a port for a device that asks by itself, or keeps it open for longer. */
  async map({ address, protocol, port, external, lifetimeMs }: PortRequest): Promise<GrantedPort> {
    const device = this.deviceAt(address);
    const id = { device, protocol, port };
    const granted = Math.min(lifetimeMs, LONGEST_LIFETIME_MS);
    const { host } = this.deps;
    const until = { at: host.monotonic() + granted, date: new Date(host.now() + granted).toISOString() };
    const present = this.held.get(keyOf(id));
    if (present === undefined) this.refuseMore(device);
    if (port === DNS_PORT) throw new PortRefusal("refused", "port 53 is not forwarded");
    const held =
      present ?? (await this.take({ ...id, fixed: null, address }, { until, preferred: external }));
    if (held.until !== null) held.until = until;
    await Promise.race([held.keeper.tried, host.sleep(RESULT_WITHIN_MS)]);
    const { opened } = held.keeper;
    if (held.keeper.isOpen && opened !== null)
      return { external: opened.port.external, lifetimeMs: granted, address: opened.port.address };
    const failure = held.keeper.failure ?? new GatewayError("timed_out", "the provider has not answered yet");
    if (held.until !== null && present === undefined) await this.end(held);
    throw failure;
  }

  /** Closes what the device has asked for itself; null means any. A person's forward stays. */
  async unmap({
    address,
    protocol,
    port,
  }: {
    address: Address;
    protocol: string | null;
    port: number | null;
  }): Promise<void> {
    const device = this.deviceAt(address);
    const all = [...this.held.values()].filter(
      (held) =>
        held.device === device &&
        (protocol ?? held.protocol) === held.protocol &&
        (port ?? held.port) === held.port,
    );
    await Promise.all(all.filter(({ until }) => until !== null).map((held) => this.end(held)));
    if (all.some(({ until }) => until === null))
      throw new PortRefusal("refused", "a person has forwarded this port");
  }

  /** The provider's public address at the tunnel of a device; null if the provider does not say. */
  async publicAddress(address: Address): Promise<Address | null> {
    const device = this.deviceAt(address);
    const exit = this.deps.devices.exitOf(device);
    const { way, why } = placeOf({ device, exit, isKnown: true }, this.deps.tunnels.all());
    if (way === null || why !== null) return null;
    const known = this.openOn(exit).find(({ port }) => port.address !== null)?.port.address;
    if (known != null) return known;
    const opener = this.deps.openerFor(way.session.server, null);
    if (opener.publicAddress === undefined) return null;
    const now = this.deps.host.monotonic();
    const last = this.answered.get(way.session);
    if (last !== undefined && now - last.at < ADDRESS_KEPT_MS) return last.answer;
    const answer = this.askedAddress(way, opener);
    this.answered.set(way.session, { at: now, answer });
    return answer;
  }

  private async askedAddress(way: Way, opener: Opener): Promise<Address | null> {
    const asking = { way, opener };
    this.asking.add(asking);
    try {
      await this.apply();
      const { signal } = new AbortController();
      return await this.queueOf(way.tunnel).add(
        async () => (await opener.publicAddress?.(way, signal)) ?? null,
      );
    } finally {
      this.asking.delete(asking);
      await this.apply();
    }
  }

  /** The server of a tunnel has lost its ports: they are asked for again, after the random wait of RFC 6886, 3.7. */
  async renewAll({ session }: Way): Promise<void> {
    await this.deps.host.sleep(Math.random() * LOST_WITHIN_MS);
    for (const { keeper } of this.held.values())
      if (keeper.opened?.way.session === session) keeper.renewNow();
  }

  /** The external ports that are open at the server of a tunnel, each once. */
  portsOf(tunnel: string): number[] {
    return [...new Set(this.openOn(tunnel).map(({ port }) => port.external))];
  }

  /** How many ports are open, by tunnel. */
  counts(): Record<string, number> {
    return Object.fromEntries(this.deps.tunnels.all().map(({ name }) => [name, this.openOn(name).length]));
  }

  private openOn(tunnel: string): Opened[] {
    return [...this.held.values()].flatMap(({ keeper }) =>
      keeper.isOpen && keeper.opened?.way.tunnel === tunnel ? [keeper.opened] : [],
    );
  }

  private get saved(): SavedForward[] {
    return forwardsIn(this.deps.store.read(KEY));
  }

  private save(forwards: readonly SavedForward[]): void {
    this.deps.store.write(KEY, textOf(forwards));
  }

  private async take(
    saved: SavedForward,
    asked: { until: Until; preferred: number | null } | null,
  ): Promise<Held> {
    const key = keyOf(saved);
    const present = this.held.get(key);
    // A person who asks again wants it to be tried again.
    if (present !== undefined && present.fixed === saved.fixed && !present.keeper.isIdle) {
      present.until = asked?.until ?? null;
      this.noteNeeded();
      return present;
    }
    if (present !== undefined) await this.end(present, true);
    const held: Held = {
      ...saved,
      until: asked?.until ?? null,
      preferred: asked?.preferred ?? present?.preferred ?? null,
      told: null,
      keeper: new Keeper({
        host: this.deps.host,
        place: () => this.placeOf(held),
        openerFor: ({ session }) => this.deps.openerFor(session.server, held.fixed),
        wanted: (way) => this.wantedBy(held, way),
        check: (way, port) => this.refuseTaken(held, way, port),
        inTurn: ({ tunnel }, work) => this.queueOf(tunnel).add(work),
        changed: () => this.changed(held),
      }),
    };
    this.held.set(key, held);
    this.noteNeeded();
    void held.keeper
      .keep()
      .catch((error: unknown) => this.deps.log.warn(`forward ${key}: ${messageOf(error)}`));
    void this.keepUntilOver(held);
    void this.lookFor(held);
    return held;
  }

  private noteNeeded(): void {
    const ofPeople = this.held.values().filter(({ until }) => until === null);
    this.needed = new Set(ofPeople.map(({ device }) => device));
  }

  /** What a device does not ask for again ends. */
  private async keepUntilOver(held: Held): Promise<void> {
    const { host } = this.deps;
    while (held.until !== null && this.held.get(keyOf(held)) === held) {
      const leftMs = held.until.at - host.monotonic();
      if (leftMs <= 0) return this.end(held);
      // The next request may be for a shorter time.
      await host.sleep(Math.min(leftMs, LOOK_EACH_MS));
    }
  }

  /** A device that only listens is seen when it is asked for, at the address that it had last or that a person chose. */
  private async lookFor(held: Held): Promise<void> {
    const { devices, host } = this.deps;
    while (this.held.get(keyOf(held)) === held) {
      const address = held.address ?? devices.chosenAddressOf(held.device);
      if (address !== null && this.addressesOf(held).length === 0)
        // It may be asked for again.
        await this.addresses.ask(address).catch(() => {});
      await host.sleep(ASK_EACH_MS);
    }
  }

  /** `isReplaced` if another one of the same device, protocol and port follows at once. */
  private async end(held: Held, isReplaced = false): Promise<void> {
    const key = keyOf(held);
    if (this.held.get(key) !== held) return;
    this.held.delete(key);
    this.noteNeeded();
    await held.keeper
      .stop()
      .catch((error: unknown) => this.deps.log.warn(`forward ${key}: ${messageOf(error)}`));
    const { device, protocol, port } = held;
    if (!isReplaced) this.deps.publishRemoved({ device, protocol, port });
  }

  private placeOf(held: Held): Place {
    const { devices, tunnels } = this.deps;
    const isKnown = this.addressesOf(held).length > 0;
    return placeOf({ device: held.device, exit: devices.exitOf(held.device), isKnown }, tunnels.all());
  }

  private addressesOf({ device }: Held): readonly Address[] {
    return this.addresses.of(device);
  }

  /** No two of a way are asked for with the same port inside: NAT-PMP tells them apart by it. */
  private wantedBy(held: Held, way: Way): WantedPort {
    const { protocol, fixed, preferred, port } = held;
    if (fixed !== null) this.refuseTaken(held, way, { inside: fixed });
    const taken = new Set(this.othersOn(way, held).map(({ port: { inside } }) => inside));
    let inside = port;
    while (taken.has(inside)) inside = inside === 65_535 ? 1_024 : inside + 1;
    return { protocol, inside, external: fixed ?? preferred };
  }

  private refuseTaken(held: Held, way: Way, { inside }: Pick<OpenPort, "inside">): void {
    if (!this.othersOn(way, held).some(({ port }) => port.inside === inside)) return;
    throw new PortRefusal(
      "exhausted",
      `port ${inside} of the tunnel ${way.tunnel} leads to another device or port already; remove that forward first`,
    );
  }

  private othersOn(way: Way, held: Held): Opened[] {
    return [...this.held.values()].flatMap(({ protocol, keeper }) => {
      const { opened } = keeper;
      const isSame = keeper === held.keeper || protocol !== held.protocol;
      return isSame || opened?.way.session !== way.session ? [] : [opened];
    });
  }

  /** A tunnel or a device has changed. */
  private look(): void {
    if (!this.isLoaded) return;
    for (const { keeper } of this.held.values()) keeper.wake();
    this.saveAddresses();
    void this.apply().catch((error: unknown) => this.deps.log.warn(`forwards: ${messageOf(error)}`));
    void this.tell([...this.held.values()]);
  }

  private async changed(held: Held): Promise<void> {
    held.preferred = held.keeper.opened?.port.external ?? held.preferred;
    await this.apply().finally(() => void this.tell([held]));
  }

  private apply(): Promise<void> {
    const all = [...this.held.values()];
    const forwards = all.flatMap((held) => partOf(held, this.addressesOf(held)));
    const asked = [...all.flatMap(({ keeper }) => [keeper.asked, keeper.opened]), ...this.asking];
    const contacts = asked.flatMap((each) => (each === null ? [] : contactOf(each)));
    const part = { forwards, contacts };
    // Devices change all the time, and mostly not their addresses.
    if (!Bun.deepEquals(part, this.part)) {
      this.part = part;
      this.applied = this.deps.killSwitch.update(OWNER, part);
      this.applied.catch(() => {
        this.part = null;
      });
    }
    return this.applied;
  }

  /** Those of people: after a restart, a device that only listens is asked for where it was. */
  private saveAddresses(): void {
    const moved = [...this.held.values()].filter((held) => {
      const before = held.address;
      held.address = this.addressesOf(held).find((each) => familyOf(each) === 4) ?? before;
      return held.until === null && held.address !== before;
    });
    if (moved.length === 0) return;
    try {
      this.save(
        this.saved.map((each) => ({ ...each, address: this.held.get(keyOf(each))?.address ?? each.address })),
      );
    } catch (error) {
      this.deps.log.warn(`the addresses of forwards could not be saved: ${messageOf(error)}`);
    }
  }

  private async tell(all: readonly Held[]): Promise<void> {
    if (all.length === 0) return;
    const rows = await this.rowsOf(all);
    for (const [at, held] of all.entries()) this.tellOf(held, rows[at]);
  }

  private tellOf(held: Held, row: Forward | undefined): void {
    if (row === undefined || this.held.get(keyOf(held)) !== held || Bun.deepEquals(row, held.told)) return;
    const { name, protocol, port, external, tunnel } = row;
    if (external !== null && external !== held.told?.external)
      this.deps.log.info(
        `port ${external} (${protocol}) at ${tunnel} leads to ${name || held.device}:${port}`,
      );
    held.told = row;
    this.deps.publish(row);
  }

  private async rowsOf(all: readonly Held[]): Promise<Forward[]> {
    const devices = await this.deps.devices.rowsOf([...new Set(all.map(({ device }) => device))]);
    const names = this.deps.tunnels.all().map(({ name }) => name);
    return all.map((held) => {
      const exit = this.deps.devices.exitOf(held.device);
      return rowOf(held, {
        name: devices.find(({ id }) => id === held.device)?.name ?? "",
        tunnel: names.includes(exit) ? exit : null,
      });
    });
  }

  private queueOf(tunnel: string): Queue {
    const queue = this.queues.get(tunnel) ?? new Queue();
    this.queues.set(tunnel, queue);
    return queue;
  }

  private deviceAt(address: Address): Mac {
    const mac = parseMac(this.deps.devices.holderOf(address) ?? "");
    if (mac !== null) return mac;
    throw new PortRefusal("refused", "only a device on the LAN itself can be forwarded to");
  }

  private refuseMore(device: Mac): void {
    const asked = [...this.held.values()].filter((held) => held.until !== null && held.device === device);
    if (asked.length >= MOST_OF_DEVICE || this.held.size >= MOST_FORWARDS)
      throw new PortRefusal("exhausted", "there are as many forwards as there may be");
  }
}
