import { version } from "../../package.json";
import type { Tokens } from "../access/tokens.ts";
import { messageOf } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import type { Https } from "../certificates/https.ts";
import type { LanNetworks } from "../devices/networks.ts";
import type { Dns } from "../dns/dns.ts";
import type { Forwards } from "../forwards/forwards.ts";
import type { ForwardingPath } from "../killswitch/obstacles.ts";
import { isKillSwitchWanted } from "../killswitch/operator-switch.ts";
import { inspectOffline } from "../killswitch/report.ts";
import type { ConntrackGuard } from "../network/bounds.ts";
import type { FairQueues } from "../network/fair-queues.ts";
import {
  closedToMeshes,
  hostNetworkOf,
  networkIn,
  readNetwork,
  tunnelAddressesIn,
} from "../network/host-network.ts";
import { ROLES } from "../network/lan.ts";
import type { OtherRouters } from "../network/other-routers.ts";
import { MAIN_SLOT, slotOf } from "../network/slot.ts";
import type { RemoteAccess } from "../remote/access.ts";
import { CHECKS_KEPT_MS } from "../shared/bounds.ts";
import { capital, tunnelTitle } from "../shared/words.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { freeBytes, isProgramReplaced } from "../system/resources.ts";
import { CLOCK_EVERY_MS, type SavedState } from "../tunnel/saved-state.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { accessFinding } from "./access.ts";
import { clockFinding } from "./clock.ts";
import { dhcpFinding } from "./dhcp.ts";
import { type Finding, fault } from "./finding.ts";
import { otherFirewallsFinding } from "./firewalls.ts";
import { forwardsFinding } from "./forwards.ts";
import { httpsFinding } from "./https.ts";
import {
  directFinding,
  forwardingFinding,
  lastChangeFinding,
  layerFinding,
  otherRulesFinding,
} from "./killswitch.ts";
import {
  connectionsFinding,
  databaseFinding,
  diskFinding,
  memoryFinding,
  versionFinding,
} from "./machine.ts";
import { meshFinding } from "./mesh.ts";
import {
  ipv6Finding,
  lanFinding,
  lineFinding,
  otherRoutersFinding,
  resolverFinding,
  uplinkFinding,
} from "./network.ts";
import { networksFinding } from "./networks.ts";
import { qualityFinding } from "./quality.ts";
import { refused } from "./refusals.ts";
import { remoteFinding } from "./remote.ts";
import { CHECKS, type CheckName, withCauses } from "./rows.ts";
import type { Check, Checks } from "./schema.ts";
import { TunnelChecks } from "./tunnels.ts";

/** The input of the checks. */
export interface Surroundings {
  host: Host;
  settings: Settings;
  store: Pick<Store, "alert" | "fault" | "read">;
  savedState: SavedState;
  /** These seven are null if no service runs. */
  tunnels: Tunnels | null;
  dns: Pick<Dns, "state"> | null;
  https: Pick<Https, "status"> | null;
  tokens: Pick<Tokens, "list"> | null;
  forwards: Pick<Forwards, "list"> | null;
  remoteAccess: Pick<RemoteAccess, "circles" | "links" | "status"> | null;
  fairQueues: Pick<FairQueues, "line" | "missing"> | null;
  devices?: { networks: Pick<LanNetworks, "list"> };
  /** The listener, if a service runs. */
  otherRouters: Pick<OtherRouters, "current" | "isListening">;
  bounds: Pick<ConntrackGuard, "places" | "refused">;
  /** The parts of the service that have failed and are run again, and why. */
  failing: ReadonlyMap<string, string>;
  /** Longest time for one check. */
  deadlineMs?: number;
}

/** A machine that is busy needs some seconds for a program, and a slow resolver is asked twice, for five seconds each. */
const DEADLINE_MS = 12_000;

/** One check: its name, and its function. Null if there is nothing to check. */
interface Item {
  id: string;
  title: string;
  look: () => Finding | null | Promise<Finding | null>;
}

interface Run {
  results: Promise<Checks>;
  /** Null while it is in progress. */
  endedAt: number | null;
  /** Whether a tunnel has changed since it began. */
  isOutdated: boolean;
}

/** Looks at everything that a working gateway needs. Only reads, and sends nothing but DNS queries into the tunnel. */
export class Checkup {
  private last: Run | null = null;
  /** Requested; begins when the present run ends. */
  private next: Promise<Checks> | null = null;

  constructor(private readonly surroundings: Surroundings) {
    surroundings.tunnels?.onTunnel(({ controller }) => controller.onChange(() => this.forget()));
  }

  /** The results, at most some seconds old, and not older than the state of a tunnel. There is one run at a time. */
  results(): Promise<Checks> {
    const { last, next } = this;
    if (next !== null) return next;
    if (last === null || this.isOver(last)) return this.begin();
    if (!last.isOutdated) return last.results;
    const begin = () => this.begin();
    this.next = last.results.then(begin, begin);
    return this.next;
  }

  private isOver({ endedAt, isOutdated }: Run): boolean {
    if (endedAt === null) return false;
    return isOutdated || this.surroundings.host.monotonic() - endedAt >= CHECKS_KEPT_MS;
  }

  private begin(): Promise<Checks> {
    this.next = null;
    const begun: Run = { results: this.run(), endedAt: null, isOutdated: false };
    const end = () => {
      begun.endedAt = this.surroundings.host.monotonic();
    };
    begun.results.then(end, end);
    this.last = begun;
    return begun.results;
  }

  /** After a connect, people expect to see it in the results. */
  private forget(): void {
    if (this.last !== null) this.last.isOutdated = true;
  }

  private async run(): Promise<Checks> {
    const { host, deadlineMs = DEADLINE_MS } = this.surroundings;
    const checks = await Promise.all(this.items().map((item) => checkOf(item, deadlineMs)));
    return {
      checks: withCauses(checks.filter((check) => check !== null)),
      checked_at: new Date(host.now()).toISOString(),
    };
  }

  /** Without a service, only the tunnel `main` is checked. */
  private get links(): Pick<ForwardingPath, "tunnels" | "base"> {
    const { tunnels, settings } = this.surroundings;
    const base = settings.interface;
    const slots = tunnels?.all().map(({ slot }) => slot) ?? [slotOf(MAIN_SLOT, base)];
    return { tunnels: slots.flatMap(({ links }) => links), base };
  }

  private items(): Item[] {
    const { host, settings, savedState, store, tunnels, tokens, forwards, https } = this.surroundings;
    const { remoteAccess, otherRouters, bounds, fairQueues, devices } = this.surroundings;
    const reading = once(() => readNetwork(host));
    const network = once(async () => networkIn(await reading(), settings, ROLES.read(savedState)));
    const inside = async () => tunnelAddressesIn(await reading(), settings);
    const inspection = once(() => this.inspection());
    const inTunnels = new TunnelChecks(this.surroundings, network, async () => (await reading()).routes);
    const ways = async () => {
      const uplink = (await inspection()).direct > 0 ? (await network()).uplink : null;
      return { ...this.links, uplink, ports: [settings.port, settings.https ?? []].flat() };
    };
    const service = { wanted: isKillSwitchWanted(savedState), runs: tunnels !== null };
    return [
      item("version", () => versionFinding(host, version, isProgramReplaced())),
      ...(tunnels === null ? [item("service", () => fault("service_stopped", {}))] : []),
      item("parts", () => partsFinding(this.surroundings.failing)),
      item("firewall", async () => layerFinding("firewall", await inspection(), service)),
      item("routing", async () => layerFinding("routing", await inspection(), service)),
      item("other_rules", async () => otherRulesFinding(await inspection())),
      item("direct", async () => directFinding(await inspection())),
      ...(tunnels === null ? [] : [item("last_change", async () => lastChangeFinding(await inspection()))]),
      item("other_firewalls", async () => otherFirewallsFinding(host, await network(), await ways())),
      item("forwarding", async () => forwardingFinding(await inspection())),
      item("clock", () => clockFinding(host, latestIn(savedState))),
      item("uplink", async () =>
        uplinkFinding(host, await network(), tunnels?.main.controller.carriesData ?? false),
      ),
      item("lan", async () => lanFinding(await network(), await inside())),
      item("networks", () => (devices ? networksFinding(devices.networks.list()) : null)),
      item("mesh", async () =>
        meshFinding(host, await network(), settings.mesh, closedToMeshes(await reading(), settings)),
      ),
      item("dhcp", () => dhcpFinding(host, settings, network)),
      item("other_routers", async () => otherRoutersFinding(host, await network(), otherRouters)),
      item("resolver", () => resolverFinding(host)),
      ...(tunnels?.all() ?? []).map(({ name }) => item("tunnel", () => inTunnels.finding(name), name)),
      item("dns", () => inTunnels.dnsFinding()),
      item("mtu", () => inTunnels.mtuFinding()),
      item("quality", () => tunnels && qualityFinding(tunnels.measured)),
      item("line", () => fairQueues && lineFinding(fairQueues)),
      item("ipv6", async () => ipv6Finding(await network(), inTunnels.carriesIpv6)),
      item("forwards", async () => forwardsFinding((await forwards?.list()) ?? [])),
      item("remote", async () => {
        if (remoteAccess === null) return null;
        const { links } = await remoteAccess.links();
        return remoteFinding(await remoteAccess.status(), links, remoteAccess.circles);
      }),
      item("access", () => tokens && accessFinding(settings.auth, tokens.list())),
      item("https", () => https && httpsFinding(https.status(), settings, host.now())),
      item("connections", () => connectionsFinding(bounds, tunnels !== null)),
      item("disk", () => diskFinding(freeBytes(settings.stateDir))),
      item("database", async () =>
        databaseFinding((await store.fault()) ?? savedState.trouble, store.alert, store.read(EXIT_KEYS.lost)),
      ),
      item("memory", () => memoryFinding(host)),
    ];
  }

  private async inspection() {
    const { host, settings, savedState, tunnels } = this.surroundings;
    if (tunnels !== null) return tunnels.protection.inspection();
    const network = await hostNetworkOf(host, settings, ROLES.read(savedState));
    return inspectOffline(host, network, settings);
  }
}

/** Nothing is shown while all work. */
function partsFinding(failing: ReadonlyMap<string, string>): Finding | null {
  if (failing.size === 0) return null;
  return fault("parts_failed", { reason: [...failing].map(([name, why]) => `${name}: ${why}`).join("; ") });
}

/** The last handshake, or the time that was saved since, minus a small correction of the clock. */
function latestIn(savedState: SavedState): number | null {
  const saved = savedState.clock();
  const times = [savedState.handshake() ?? [], saved === null ? [] : saved - CLOCK_EVERY_MS].flat();
  return times.length === 0 ? null : Math.max(...times);
}

/** Of a check of each tunnel, `tunnel` is which. */
function item(name: CheckName, look: Item["look"], tunnel?: string): Item {
  if (tunnel === undefined) return { id: name, title: CHECKS[name].title, look };
  return { id: `${name}:${tunnel}`, title: capital(tunnelTitle(tunnel)), look };
}

/** A check that fails or takes too long is a fault itself, because its subject may not work. */
async function checkOf({ id, title, look }: Item, deadlineMs: number): Promise<Check | null> {
  const late = Promise.withResolvers<never>();
  const expire = () => late.reject(refused("check_late", { seconds: deadlineMs / 1_000 }));
  const timer = setTimeout(expire, deadlineMs);
  try {
    const finding = await Promise.race([Promise.resolve().then(look), late.promise]);
    return finding && { id, title, ...finding };
  } catch (error) {
    return { id, title, ...fault("check_failed", { reason: messageOf(error) }) };
  } finally {
    clearTimeout(timer);
  }
}

/** Reads something for the first caller, and gives the others the same. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let begun: Promise<T> | null = null;
  return () => {
    begun ??= read();
    return begun;
  };
}
