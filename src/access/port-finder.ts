import { version } from "../../package.json";
import type { Alarm } from "../base/alert.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Texts } from "../base/saved.ts";
import type { Settings } from "../base/settings.ts";
import { DHCP_UNIT } from "../dhcp/files.ts";
import { answeringLinks } from "../network/dhcp.ts";
import { type HostNetwork, type Reading, readNetwork } from "../network/host-network.ts";
import { type AskedPort, isOneCable, type PortRoles, portsIn, rolesFor } from "../network/ports.ts";
import type { Host } from "../system/host.ts";
import { refused } from "../system/refusals.ts";
import type { RootCommands } from "../system/root-commands.ts";
import { arePortsChanging, isSetupDue } from "../system/setup.ts";
import type { Claim } from "./claim.ts";
import { hasOwner } from "./tokens.ts";

const LOOK_EVERY_MS = 5_000;
/** A switch may hold back the first packets for 30 s (spanning tree), and a silent port is taken for the LAN. */
const SETTLED_AFTER_MS = 40_000;
const CHANGING_LOOK_MS = 1_000;
/** For a person, or a router that starts. */
const TRY_AGAIN_MS = 30_000;

interface Deps {
  host: Host;
  claim: Pick<Claim, "state">;
  store: Pick<Texts, "read">;
  settings: Pick<Settings, "lan" | "uplink">;
  alarm: Alarm;
  log: Pick<Log, "info" | "warn">;
}

type Root = Pick<RootCommands, "assignPorts" | "restorePorts" | "isChanging">;

/**
 * Finds out which port of a flashed gateway is the uplink, as long as it has no owner. After the claim, only an owner or root
 * changes the roles of the ports: a server that answers later may be anybody's.
 */
export class PortFinder {
  /** Whether the present roles are right for what is plugged in. */
  private isFound = false;
  /** Whether the LAN has been left out. */
  private isHiding = false;
  /** Whether a change was cut off, or is under way. */
  private isDue: boolean | null = null;
  private isChanging = false;
  /** For what is plugged in: another cable is silent for as long again. */
  private pending: { roles: PortRoles; plugged: readonly string[]; since: number } | null = null;
  /** Whether the gateway's own DHCP server was told to make way. */
  private hasMadeWay = false;
  private told = "";

  constructor(private readonly deps: Deps) {}

  /**
   * The network, without a LAN as long as the only cable may turn out to be one of two: until then only DHCP
   * leaves, and neighbour discovery at the uplink, and nobody can claim the gateway by a cable. Nor is there one while an
   * owner's or root's change of the roles is half done.
   */
  async served(network: HostNetwork, reading: Reading): Promise<HostNetwork> {
    const { present } = this;
    if (this.isFlashed && !this.mayChange && (await arePortsChanging(this.deps.host))) {
      this.isHiding = true;
      return { ...network, lans: [] };
    }
    if (this.isFound || present === null || !this.mayChange || portsIn(reading).length < 2) return network;
    // The first look comes before any client, and a change may have been cut off.
    this.isDue ??= await this.isHalfDone();
    if (!isOneCable(present)) return network;
    this.isHiding = true;
    return { ...network, lans: [] };
  }

  /** Throws while the roles change, so that nobody becomes the owner on a port that is about to be closed to him. */
  assertQuiet(): void {
    if (this.isChanging || (this.mayChange && this.isDue === true)) throw refused("root_busy");
  }

  /**
   * Looks until somebody has claimed the gateway, or nobody may any more, and then only for changes that were cut off. `look`
   * has the network looked at again.
   */
  async watch(root: Root, look: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    const { host, log } = this.deps;
    while (!signal.aborted && this.present !== null && this.mayChange) {
      const wait = await this.step(root, look, signal).catch((error: unknown) => {
        this.pending = null;
        log.warn(`the network ports could not be told apart: ${messageOf(error)}`);
        return TRY_AGAIN_MS;
      });
      await host.sleep(wait, signal);
    }
    while (!signal.aborted) {
      await this.settle(root, signal);
      if (signal.aborted) return;
      await this.found(look);
      if (!this.isFlashed) return;
      // A change that ends without a restart of this service has failed, and so has what goes back from it.
      await host.sleep(TRY_AGAIN_MS, signal);
    }
  }

  /** Waits for a change of the roles, which has restarted this service, or goes back from one that a power cut has ended. */
  private async settle(root: Root, signal: AbortSignal): Promise<void> {
    const { host, log } = this.deps;
    while (!signal.aborted && this.isFlashed && (await arePortsChanging(host))) {
      const isUnderWay = await root.isChanging();
      if (!isUnderWay)
        await root.restorePorts().catch((error: unknown) => {
          log.warn(`the network ports did not get their former roles: ${messageOf(error)}`);
        });
      await host.sleep(isUnderWay ? CHANGING_LOOK_MS : TRY_AGAIN_MS, signal);
    }
  }

  /** Whether a change was cut off. */
  private async isHalfDone(): Promise<boolean> {
    const { host } = this.deps;
    return (await isSetupDue(host, version)) || (await arePortsChanging(host));
  }

  private async found(look: () => Promise<unknown>): Promise<void> {
    this.isFound = true;
    if (!this.isHiding) return;
    this.isHiding = false;
    await look();
  }

  private get isFlashed(): boolean {
    return this.deps.claim.state !== "none";
  }

  private get mayChange(): boolean {
    return this.deps.claim.state === "open" && !hasOwner(this.deps.store);
  }

  /** Null if a person has chosen otherwise than the image. */
  private get present(): PortRoles | null {
    const { uplink, lan } = this.deps.settings;
    return uplink === null || lan.length === 0 ? null : { uplink, lans: lan };
  }

  /** One look; returns how long to wait for the next. */
  private async step(root: Root, look: () => Promise<unknown>, signal: AbortSignal): Promise<number> {
    const { present } = this;
    const ports = await this.asked(signal);
    if (ports === null) this.pending = null;
    if (present === null || ports === null || signal.aborted) return 0;
    // Another one that comes later is a cable that is plugged in later.
    if (ports.length === 1) this.isFound = true;
    if (ports.length < 2) {
      this.isDue = null;
      return LOOK_EVERY_MS;
    }
    await this.makeWay(ports, present);
    this.isDue = await this.isHalfDone();
    const roles = rolesFor(ports, present.uplink);
    if (roles !== null && !this.isDue && Bun.deepEquals(roles, present)) {
      this.pending = null;
      this.tell(ports, present);
      await this.found(look);
    } else if (this.isSettled(roles, ports)) return this.change(root, roles, signal);
    return LOOK_EVERY_MS;
  }

  private isSettled(roles: PortRoles | null, ports: readonly AskedPort[]): roles is PortRoles {
    const now = this.deps.host.monotonic();
    const plugged = ports.filter(({ hasCarrier }) => hasCarrier).map(({ name }) => name);
    const { since = now, ...before } = this.pending ?? {};
    if (roles === null) this.pending = null;
    else this.pending = { roles, plugged, since: Bun.deepEquals({ roles, plugged }, before) ? since : now };
    return this.pending !== null && now - this.pending.since >= SETTLED_AFTER_MS;
  }

  /** Null if a cable came or went meanwhile, as just after power-on. */
  private async asked(signal: AbortSignal): Promise<AskedPort[] | null> {
    const { host } = this.deps;
    const reading = await readNetwork(host);
    // With a cable from one port to another, this machine's own server answers.
    const own = reading.addresses.flatMap(({ addr_info }) => addr_info.flatMap(({ local = [] }) => local));
    const ports = portsIn(reading);
    const plugged = ports.length > 1 ? ports.filter(({ hasCarrier }) => hasCarrier) : [];
    const links = plugged.map(({ name }) => name);
    const answering = await answeringLinks(host, links, own, signal);
    const asked = ports.map((port) => ({ ...port, answers: answering.includes(port.name) }));
    return Bun.deepEquals(portsIn(await readNetwork(host)), ports) ? asked : null;
  }

  /**
   * Two servers on one cable would lead the home's devices astray until the roles have changed. Ours starts again, and waits
   * for as long as another one answers.
   */
  private async makeWay(ports: readonly AskedPort[], present: PortRoles): Promise<void> {
    const isForeign = !isOneCable(present) && ports.some((p) => p.answers && present.lans.includes(p.name));
    const isNew = isForeign && !this.hasMadeWay;
    this.hasMadeWay = isForeign;
    if (!isNew) return;
    const { host, log } = this.deps;
    await host
      .run(["systemctl", "--no-block", "try-restart", DHCP_UNIT])
      .catch((error: unknown) => log.warn(messageOf(error)));
  }

  private tell(ports: readonly AskedPort[], { uplink }: PortRoles): void {
    const alike = ports.filter(({ answers }) => answers).map(({ name }) => name);
    const told = alike.length > 1 ? alike.join(", ") : "";
    if (told !== this.told && told !== "") this.deps.alarm("ports_alike", { ports: told, uplink });
    this.told = told;
  }

  /** The service is restarted by it. If it is not, this is tried again. */
  private async change(root: Root, roles: PortRoles, signal: AbortSignal): Promise<number> {
    const { host, log } = this.deps;
    if (!this.mayChange) return 0;
    this.isChanging = true;
    try {
      const { uplink, lans } = roles;
      log.info(`the uplink is ${uplink}, and the LAN ${lans.join(", ")}: the settings change to this`);
      await root.assignPorts(roles);
      // Systemd may not have begun.
      do await host.sleep(CHANGING_LOOK_MS, signal);
      while (!signal.aborted && (await root.isChanging()));
    } finally {
      // It may have begun, and failed half-way.
      this.isDue = await this.isHalfDone().catch(() => true);
      this.isChanging = false;
    }
    if (!signal.aborted)
      log.warn("the network ports did not get their roles; why: journalctl -u portcullis-change");
    return TRY_AGAIN_MS;
  }
}
