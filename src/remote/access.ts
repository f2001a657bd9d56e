import type { Alarm } from "../base/alert.ts";
import { nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { coalesced, Queue } from "../base/queue.ts";
import type { Devices } from "../devices/devices.ts";
import type { Opener, TunnelEnd } from "../forwards/opener.ts";
import type { ReservedPort } from "../forwards/reserved-port.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { ConntrackGuard } from "../network/bounds.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Server } from "../servers/schema.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { formatEndpoint } from "../wireguard/config-text.ts";
import { generateKeyPair } from "../wireguard/key.ts";
import { Admissions } from "./admissions.ts";
import { accessFor } from "./choice.ts";
import type { Decided, RemoteDevices, RemoteEvents } from "./devices.ts";
import { HomeEndpoints } from "./home-endpoints.ts";
import { linkedIn } from "./home-record.ts";
import { type HomeCircle, Homes } from "./homes.ts";
import { gatewayKey } from "./identity.ts";
import { InboundAlert } from "./inbound-alert.ts";
import { InboundPath } from "./inbound-path.ts";
import { RemoteInterface } from "./interface.ts";
import { type Access, REMOTE_PRIVATE_KEY } from "./saved.ts";
import type {
  AddedRemoteDevice,
  HomeLinkChange,
  HomeLinks,
  NewHomeCode,
  NewRemoteDevice,
  RemoteChoice,
  RemoteDeviceChange,
  RemoteStatus,
} from "./schema.ts";
import { statusOf } from "./status.ts";
import { noPort, TunnelPort, type WantedTunnelPort } from "./tunnel-port.ts";
import { UplinkPaths } from "./uplink-paths.ts";

interface RemoteAccessEvents {
  remote_update: { on: boolean; devices: number };
}

interface Deps {
  host: Host;
  store: Store;
  killSwitch: KillSwitch;
  devices: Devices;
  remote: RemoteDevices;
  tunnels: Tunnels;
  catalogue: Pick<Catalogue, "addCustom" | "remove" | "server">;
  bounds: Pick<ConntrackGuard, "limitRemote">;
  /** How a tunnel's provider opens a port. Throws `PortRefusal` if it opens none. */
  openerFor: (server: Server) => Opener;
  /** The port of remote access, which devices must not be given. */
  reserved: Pick<ReservedPort, "set">;
  /** The devices for which there are schedules, rules or lists, former ones included. */
  decided: () => ReadonlySet<string>;
  /** Whether a forwarded port of a device has this UDP port at the server of the tunnel. */
  isForwarded: (tunnel: string, inside: number) => boolean;
  savedState: SavedState;
  /** The gateway's own name, as other homes are told it. */
  hostname: string;
  /** The program that provides WireGuard interfaces if the kernel does not. */
  userspace: string;
  /** The installation's unique local prefix, or null. */
  ula: string | null;
  alarm: Alarm;
  events: Pick<Bus<RemoteAccessEvents>, "publish"> & Pick<Bus<RemoteEvents>, "subscribe">;
  log: Pick<Log, "info" | "warn">;
}

/** How often is checked whether the interface is as it should be, and who was heard. */
const LOOK_MS = 15_000;
/** The home router is asked by three protocols in turn. */
const ROUTER_ANSWERS_WITHIN_MS = 15_000;

/** Turns remote access on and off, and lets devices in. Changes and repairs run one after another. */
export class RemoteAccess {
  private readonly tunnelPort: TunnelPort;
  private readonly uplink: UplinkPaths;
  private readonly wayIn: InboundPath;
  private readonly wayAlert: InboundAlert;
  private readonly link: RemoteInterface;
  private readonly admissions: Admissions;
  private readonly homeEndpoints: HomeEndpoints;
  private readonly homes: Homes;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    const { remote } = deps;
    this.tunnelPort = new TunnelPort({ ...deps, onPort: () => void this.followPort() });
    this.uplink = new UplinkPaths({ ...deps, onWays: () => this.tell() });
    this.wayIn = new InboundPath({ ...deps, tunnelPort: this.tunnelPort, uplink: this.uplink });
    this.wayAlert = new InboundAlert(deps.alarm);
    deps.tunnels.onTunnel(({ controller }) => controller.onChange(() => this.tunnelPort.wake()));
    deps.tunnels.onRemoved(() => this.tunnelPort.wake());
    this.homeEndpoints = new HomeEndpoints(deps);
    this.link = new RemoteInterface({ ...deps, wayIn: this.wayIn, homes: this.homeEndpoints });
    remote.settle = async () => {
      this.uplink.look();
      await this.link.settle();
    };
    const shared = { ...deps, wayIn: this.wayIn, change: (edit: Edit) => this.change(edit) };
    this.admissions = new Admissions(shared);
    this.homes = new Homes({ ...shared, admissions: this.admissions, peers: () => this.link.peers() });
  }

  /** Only the operator may: strangers can reach a port of the gateway from then on. */
  async turnOn(choice: RemoteChoice): Promise<RemoteStatus> {
    await this.queue.add(async () => {
      const { store, remote, alarm } = this.deps;
      const before = remote.access;
      const access = await this.withPort(accessFor(choice, before, this.deps), before);
      if (gatewayKey(store) === null) REMOTE_PRIVATE_KEY.write(store, generateKeyPair().privateKey);
      await this.change((decided) => ({ ...decided, access }));
      if (before?.on !== true) alarm("remote_changed", { what: "on", port: access.port });
    });
    // What turns it off does not wait for the router.
    if (this.wayIn.endpoint === null) await this.uplink.answered(ROUTER_ANSWERS_WITHIN_MS);
    return this.read();
  }

  turnOff(): Promise<RemoteStatus> {
    return this.queue.add(async () => {
      const { remote } = this.deps;
      const { access } = remote;
      if (access !== null && (access.on || !remote.decision.isSaved))
        await this.change((decided) => ({ ...decided, access: { ...access, on: false } })).finally(() =>
          this.turned(access.on),
        );
      return this.read();
    });
  }

  status(): Promise<RemoteStatus> {
    return this.read();
  }

  /** Lets a device in; resolves once it may call. */
  add(given: NewRemoteDevice): Promise<AddedRemoteDevice> {
    return this.queue.add(() => this.admissions.add(given));
  }

  update(nameOrId: string, given: RemoteDeviceChange): Promise<void> {
    return this.queue.add(() => this.admissions.update(nameOrId, given));
  }

  /** Ends its session in one transaction: none of its packets passes once this resolves. */
  remove(nameOrId: string): Promise<void> {
    return this.queue.add(() => this.admissions.remove(nameOrId));
  }

  links(): Promise<HomeLinks> {
    return this.homes.list();
  }

  get circles(): HomeCircle[] {
    return this.homes.circles;
  }

  /** Begins a link to another home. */
  addLink(name: string): Promise<NewHomeCode> {
    return this.queue.add(() => this.homes.add(name));
  }

  /** Takes the code of another home. */
  takeLink(code: string, name: string | null): Promise<NewHomeCode> {
    return this.queue.add(() => this.homes.take(code, name));
  }

  /** Lets another home reach a device, or no longer: none of its packets passes then once this resolves. */
  reachByLink(name: string, device: string, may: boolean): Promise<void> {
    return this.queue.add(() => this.homes.reach(name, device, may));
  }

  /** Lets another home leave here, or no longer. */
  changeLink(name: string, { exit }: HomeLinkChange): Promise<void> {
    return this.queue.add(() => this.homes.letLeave(name, exit));
  }

  /** None of its packets passes once this resolves. */
  removeLink(name: string): Promise<void> {
    return this.queue.add(() => this.homes.remove(name));
  }

  /** Reads the decisions again, after another writer has changed the database. */
  reload(): Promise<void> {
    // Asked for in this turn: changes that wait in the queue are made to what was restored.
    const read = this.deps.remote.decision.reload();
    read.catch(() => {});
    return this.queue.add(async () => {
      await read;
      await this.tunnelPort.want(wantedPort(this.deps.remote.access));
      await this.deps.remote.settle();
      this.tell();
    });
  }

  /** Keeps the interface as it should be, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await nextBeat(this.deps.host, LOOK_MS, signal);
    }
  }

  /** To be called when the interface may have lost something. */
  lost(link: string | null): void {
    if (this.link.mayHaveLost(link)) void this.look();
  }

  /** The server of a tunnel has lost its ports. */
  portsLost(way: TunnelEnd): void {
    this.tunnelPort.lostBy(way);
  }

  /** The provider is asked first: what it does not do is refused, and nothing changes. */
  private async withPort(access: Access, before: Access | null): Promise<Access> {
    const { through, forwarded } = access;
    if (through === null || forwarded === undefined) {
      await this.tunnelPort.want(null);
      return access;
    }
    await this.tunnelPort.want(wantedPort(access));
    await this.tunnelPort.tried();
    const { open, trouble } = this.tunnelPort;
    if (open !== null) return { ...access, port: open.inside, forwarded: { external: open.external } };
    await this.tunnelPort.want(wantedPort(before));
    throw noPort(trouble, through);
  }

  /** The provider may send to another port than before, and devices must call another number. */
  private async followPort(): Promise<void> {
    const { remote, log } = this.deps;
    await this.queue
      .add(async () => {
        const { open } = this.tunnelPort;
        const { access } = remote;
        if (open === null || access?.on !== true || access.forwarded === undefined) return;
        const isSame = access.forwarded.external === open.external && access.port === open.inside;
        if (isSame) return;
        const forwarded = { external: open.external };
        await this.change((decided) => ({ ...decided, access: { ...access, port: open.inside, forwarded } }));
      })
      .catch((error: unknown) => log.warn(`remote access: ${messageOf(error)}`));
  }

  private async look(): Promise<void> {
    await this.queue
      .add(async () => {
        const { remote } = this.deps;
        await remote.decision.retry();
        await this.tunnelPort.want(wantedPort(remote.access));
        await remote.settle();
        await this.link.peers();
        this.seeWay();
      })
      .catch((error: unknown) => this.deps.log.warn(`remote access: ${messageOf(error)}`));
    this.callHomes();
  }

  /** Names may be answered late, or never; what closes does not wait for them. */
  private readonly callHomes = coalesced(() =>
    this.redirectHomes().catch((error: unknown) => this.deps.log.warn(`another home: ${messageOf(error)}`)),
  );

  private async redirectHomes(): Promise<void> {
    const { remote } = this.deps;
    const homes = () => (remote.access?.on === true ? linkedIn(remote.homes) : []);
    if (homes().every(({ endpoint }) => endpoint === null)) return;
    const moved = await this.homeEndpoints.look(homes(), await this.link.peers());
    if (moved.length === 0) return;
    await this.queue.add(async () => {
      // A peer that was removed meanwhile would be made anew.
      for (const peer of moved)
        if (homes().some(({ public_key }) => public_key === peer.config.publicKey))
          await this.link.redirect(peer);
    });
  }

  /** It may be off although that could not be saved. */
  private async turned(wasOn: boolean): Promise<void> {
    if (!wasOn || this.deps.remote.access?.on === true) return;
    await this.tunnelPort.want(null);
    this.deps.alarm("remote_changed", { what: "off" });
  }

  private change(edit: Edit): Promise<void> {
    return this.deps.remote.decision.change(edit).finally(() => this.tell());
  }

  private seeWay(): void {
    const { remote, host } = this.deps;
    const { endpoint, fault } = this.wayIn;
    const called = endpoint === null ? null : formatEndpoint(endpoint.host, endpoint.port);
    const on = remote.access?.on === true;
    this.wayAlert.see(
      { on, endpoint: called, fault: (this.link.fault ?? fault)?.error ?? null },
      host.monotonic(),
    );
  }

  private async read(): Promise<RemoteStatus> {
    const { remote, devices, store } = this.deps;
    const { endpoint, fault, ways, byHand } = this.wayIn;
    const peers = await this.link.peers();
    return statusOf({
      remote,
      devices,
      endpoint,
      ways,
      byHand,
      peers,
      publicKey: gatewayKey(store),
      fault: this.link.fault ?? fault,
    });
  }

  private tell(): void {
    const { access, ids } = this.deps.remote;
    const payload = { on: access?.on === true, devices: ids.length };
    this.deps.events.publish({ type: "remote_update", payload });
    this.deps.devices.remoteChanged();
  }
}

type Edit = (decided: Decided) => Decided;

function wantedPort(access: Access | null): WantedTunnelPort | null {
  if (access === null || !access.on || access.through === null || access.forwarded === undefined) return null;
  return { tunnel: access.through, inside: access.port, external: access.forwarded.external };
}
