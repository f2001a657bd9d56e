import { type Address, addressOf, contains, familyOf, isLoopback, parseAddress } from "../base/address.ts";
import type { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Host, HttpsAnswer, HttpsRequest, PinnedRequest, Send } from "../system/host.ts";
import type { Controller } from "./controller.ts";
import { resolversOf } from "./nameservers.ts";
import { refused } from "./refusals.ts";
import { type EgressPath, ownPort, type Resolver } from "./resolver.ts";
import { carries } from "./session.ts";
import { carriedBy } from "./state.ts";

interface Deps {
  host: Host;
  controller: Controller;
  killSwitch: Pick<KillSwitch, "update" | "lans">;
  resolver: Resolver;
  log: Pick<Log, "warn">;
}

/** The owner of the exemption from the kill switch for a connection outside the tunnel; never a tunnel's name. */
const EXEMPTION = "an exemption";
const OPERATORS = { inside: false, owner: EXEMPTION, part: {} } as const;
type Outside = Extract<EgressPath, { inside: false }>;
/** The port of https:// (RFC 9110, 4.2.2). */
const HTTPS_PORT = 443;

/** Sends the gateway's own HTTPS requests: for server lists, and for the account at the provider. */
export class HttpsClient {
  constructor(private readonly deps: Deps) {}

  /**
   * Sends through the tunnel. Throws `GatewayError("unable")` if no tunnel is up, or if it does not lead to the server.
   */
  readonly sendInside: Send = async (request) => {
    if (this.deps.controller.state.name !== "connected") throw noTunnel();
    return this.inside(request, new AbortController().signal);
  };

  /**
   * Sends directly to an address of the LAN or of this machine, and to all others through the tunnel; never outside.
   * Throws `GatewayError("unable")` if neither is possible.
   */
  readonly sendWithin: Send = async (request) => {
    const address = parseAddress(hostOf(request));
    if (address !== null && this.isOnLan(address))
      return this.deps.host.https({ ...request, addresses: [address] });
    if (isPlain(request)) throw refused("not_on_lan", { host: new URL(request.url).host });
    return this.sendInside(request);
  };

  /** False while `sendWithin` would fail because no tunnel is up. */
  isOpenTo(request: Pick<HttpsRequest, "url">): boolean {
    const address = parseAddress(hostOf(request));
    const isDirect = isPlain(request) || (address !== null && this.isOnLan(address));
    return isDirect || this.deps.controller.state.name === "connected";
  }

  /** The gateway's own address in the tunnel, if one is there and leads to this address; else null. */
  ownAddressTo(address: Address): Address | null {
    const session = carriedBy(this.deps.controller.state);
    if (session === null || !carries(session, address)) return null;
    const own = session.server.config.interface.addresses.map(addressOf);
    return own.find((each) => familyOf(each) === familyOf(address)) ?? null;
  }

  private isOnLan(address: Address): boolean {
    const { lans } = this.deps.killSwitch;
    return (
      isLoopback(address) || lans.some(({ prefixes }) => prefixes.some((each) => contains(each, address)))
    );
  }

  /**
   * For a tunnel that is being dialled, which looks up names in this way. Outside the tunnel, its owner ends the
   * exemption by the next update of the kill switch.
   */
  sendOn(path: EgressPath, signal: AbortSignal): Send {
    return (request) => (path.inside ? this.inside(request, signal) : this.outside(request, path, signal));
  }

  /**
   * Sends through the tunnel if one is up. Otherwise it sends outside, through an exemption for exactly that server's
   * addresses and port, for one connection of this program. For the operator's own commands only. Waits for a connect
   * that is in progress.
   */
  readonly send: Send = async (request) => {
    const { controller } = this.deps;
    const { killSwitch } = this.deps;
    const answer = await controller.beside((signal) =>
      controller.state.name === "connected"
        ? Promise.resolve(null)
        : this.outside(request, OPERATORS, signal).finally(() => killSwitch.update(EXEMPTION, null)),
    );
    return answer ?? this.sendInside(request);
  };

  /** The request as `sendWithin` sends it over https, for another program of this machine. */
  async pinWithin(request: HttpsRequest): Promise<PinnedRequest> {
    const address = parseAddress(hostOf(request));
    if (address !== null && this.isOnLan(address)) return { ...request, addresses: [address] };
    if (this.deps.controller.state.name !== "connected") throw noTunnel();
    return this.pin(request, new AbortController().signal);
  }

  private async inside(request: HttpsRequest, signal: AbortSignal): Promise<HttpsAnswer> {
    return this.deps.host.https(await this.pin(request, signal), signal);
  }

  private async pin(request: HttpsRequest, signal: AbortSignal): Promise<PinnedRequest> {
    const { controller, resolver } = this.deps;
    const session = carriedBy(controller.state);
    if (session === null) throw noTunnel();
    const found =
      request.addresses ?? (await resolver.resolve(hostOf(request), { inside: true, session }, signal));
    // With the kill switch off, packets that the tunnel does not carry would leave outside it.
    const addresses = found.filter((address) => carries(session, address));
    if (addresses.length === 0) {
      throw refused("outside_tunnel", { host: new URL(request.url).host });
    }
    // The request ends with the tunnel. With the kill switch off, it would continue outside it.
    const ownAddresses = session.server.config.interface.addresses.map(addressOf);
    return { ...request, addresses, ownAddresses };
  }

  private async outside(request: HttpsRequest, path: Outside, signal: AbortSignal): Promise<HttpsAnswer> {
    const { host, killSwitch, resolver, log } = this.deps;
    const { host: server, port } = new URL(request.url);
    const addresses = request.addresses ?? (await resolver.resolve(hostOf(request), path, signal));
    const exemption = { addresses, port: port === "" ? HTTPS_PORT : Number(port), sourcePort: ownPort(host) };
    log.warn(
      `${path.owner === EXEMPTION ? "the operator's exemption" : "an exemption to register with the provider"}: one connection to ${server} (${addresses.join(", ")}) outside the tunnel, from port ${exemption.sourcePort}`,
    );
    await killSwitch.update(path.owner, { ...path.part, exemption });
    return host.https({ ...request, addresses, sourcePort: exemption.sourcePort }, signal);
  }
}

function noTunnel(): GatewayError {
  return refused("tunnel_missing");
}

/** For a machine without a kill switch, on which no service runs. */
export function sendUnguarded(host: Host): Send {
  return async (request) => host.https(await pinUnguarded(host, request));
}

/** The request as `sendUnguarded` sends it. */
export async function pinUnguarded(host: Host, request: HttpsRequest): Promise<PinnedRequest> {
  const name = hostOf(request);
  const addresses =
    parseAddress(name) === null ? await host.lookup(name, await resolversOf(host), ownPort(host)) : [name];
  return { ...request, addresses };
}

function isPlain({ url }: Pick<HttpsRequest, "url">): boolean {
  return new URL(url).protocol === "http:";
}

function hostOf({ url }: Pick<HttpsRequest, "url">): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, "");
}
