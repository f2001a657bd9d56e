import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Server } from "../servers/schema.ts";
import { offersRelay, protocolOf, type ServerPath, waysToTry } from "../servers/ways.ts";
import type { Host } from "../system/host.ts";
import type { SavedState } from "./saved-state.ts";
import type { Session } from "./session.ts";
import { uplinkNames } from "./uplink-name.ts";

/**
 * Some networks let the first packets of a flow pass and drop the rest. A session that falls silent this soon after it
 * began is taken for that.
 */
const SHORT_LIFE_MS = 60_000;
/** How long UDP is avoided on this uplink: it might have been the server, and UDP costs less. */
const DISTRUST_MS = 3_600_000;

interface Deps {
  host: Pick<Host, "run" | "sleep" | "monotonic">;
  killSwitch: Pick<KillSwitch, "network">;
  savedState: Pick<SavedState, "hasServerWays" | "serverWay" | "saveServerWay">;
}

/** How servers are reached from this uplink. */
export class KnownPaths {
  private last: { session: Session; at: number } | null = null;
  /** Uplinks by which a flow of UDP was cut off, and until when that counts. This is not saved. */
  private readonly distrusted = new Map<string, number>();

  constructor(private readonly deps: Deps) {}

  /** The ways to a server, in the order in which they are tried; never none. Without an uplink no server answers. */
  async to(server: Server): Promise<[ServerPath, ...ServerPath[]]> {
    const { killSwitch, savedState } = this.deps;
    const { port } = server.config.peer.endpoint;
    this.forgetExpired();
    const isNeeded = savedState.hasServerWays() || this.distrusted.size > 0;
    const name = isNeeded && killSwitch.network.online ? await this.uplink() : null;
    const known = name === null ? null : savedState.serverWay(name);
    const ways = waysToTry(server, known, name !== null && this.distrusts(name));
    const [first = { port }, ...others] = ways;
    return killSwitch.network.online ? [first, ...others] : [first];
  }

  /** To be called when a server has answered that may be reached in several ways. */
  async answered(session: Session): Promise<void> {
    const { host, killSwitch, savedState } = this.deps;
    this.last = { session, at: host.monotonic() };
    const { server, endpoint, transport } = session;
    const isUsual = transport === undefined && endpoint.port === server.config.peer.endpoint.port;
    if (isAskedFor(server) || (isUsual && !savedState.hasServerWays())) return;
    const names = await uplinkNames(host, killSwitch.network);
    if (transport !== undefined && names.some((name) => this.distrusts(name))) return;
    const way = isUsual ? null : { port: endpoint.port, ...(transport !== undefined && { transport }) };
    for (const name of names) savedState.saveServerWay(name, way);
  }

  /** To be called when a server no longer answers, although the uplink is alive. */
  async fellSilent(session: Session): Promise<void> {
    const { last } = this;
    const isShort = last?.session === session && this.deps.host.monotonic() - last.at < SHORT_LIFE_MS;
    const { server, transport } = session;
    if (!isShort || isAskedFor(server)) return;
    // No flow of UDP is cut off there: it was the server.
    if (protocolOf(transport) === "tcp") this.distrusted.delete(await this.uplink());
    else if (offersRelay(server))
      this.distrusted.set(await this.uplink(), this.deps.host.monotonic() + DISTRUST_MS);
  }

  private distrusts(uplink: string): boolean {
    return this.deps.host.monotonic() < (this.distrusted.get(uplink) ?? 0);
  }

  /** While there is one, each dial asks for the name of the uplink. */
  private forgetExpired(): void {
    for (const uplink of this.distrusted.keys()) if (!this.distrusts(uplink)) this.distrusted.delete(uplink);
  }

  private async uplink(): Promise<string> {
    const { host, killSwitch } = this.deps;
    const [name] = await uplinkNames(host, killSwitch.network);
    return name;
  }
}

/** By a relay: a requested transport says nothing about the uplink. */
function isAskedFor({ transport }: Server): boolean {
  return transport !== undefined && transport !== "plain";
}
