import { createHmac } from "node:crypto";
import { type Address, contains, familyOf, isHostAddress, isPrivate, isPublic } from "../base/address.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { RouterPort } from "../port-mapping/router-port.ts";
import type { RouterRequest } from "../port-mapping/router-protocol.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { formatEndpoint } from "../wireguard/config-text.ts";
import type { RemoteDevices } from "./devices.ts";
import { type Endpoint, publicAddressIn } from "./endpoint.ts";
import { refused } from "./refusals.ts";
import { type Access, REMOTE_PRIVATE_KEY } from "./saved.ts";
import type { ByHand, EntryPoint } from "./schema.ts";

interface Deps {
  host: Host;
  store: Store;
  killSwitch: KillSwitch;
  remote: RemoteDevices;
  /** To be called when a way has another state. */
  onWays: () => void;
}

const FAMILIES = [4, 6] as const;
type Family = (typeof FAMILIES)[number];

/** RFC 6887, section 11.1. */
const NONCE_BYTES = 12;
const POLL_MS = 100;

/** How remote devices reach the uplink: at its own address, or at the home router's, which is asked for a port. */
export class UplinkPaths {
  private readonly ports: Readonly<Record<Family, RouterPort>>;

  constructor(private readonly deps: Deps) {
    const port = (family: Family) =>
      new RouterPort({
        ...deps,
        nonce: () => this.nonce,
        owner: `ROUTER ${family}`,
        onChange: deps.onWays,
        onLost: () => this.ports[family === 4 ? 6 : 4].renewSoon(),
      });
    this.ports = { 4: port(4), 6: port(6) };
  }

  /** To be called when what is wanted or the network may have changed, and now and then. */
  look(): void {
    for (const family of FAMILIES) {
      this.ports[family].want(this.requestFor(family));
      this.ports[family].look();
    }
  }

  /** Resolves once the router has answered what it was asked, or after this time. */
  async answered(withinMs: number): Promise<void> {
    const { host } = this.deps;
    const end = host.monotonic() + withinMs;
    const isAsking = () => FAMILIES.some((family) => this.ports[family].state.name === "asking");
    while (isAsking() && host.monotonic() < end) await host.sleep(POLL_MS);
  }

  /** What devices call by default; null if that is not known. IPv4 comes first. */
  endpoint({ port }: Access): Endpoint | null {
    const own = this.ownAddress;
    if (own !== null && isIpv4(own)) return { host: own, port };
    return this.mapped(4) ?? this.mapped(6) ?? (own === null ? null : { host: own, port });
  }

  list({ port }: Access): EntryPoint[] {
    const own = this.ownAddress;
    if (own === null) return [this.byRouter()];
    if (!isIpv4(own)) return [this.byRouter(), this.byIpv6(own, port)];
    return [{ kind: "own", state: "open", endpoint: formatEndpoint(own, port), protocol: null, error: null }];
  }

  /** What to enter in the home router by hand; null without one. */
  byHand({ port, endpoint }: Access): ByHand | null {
    const { uplinkAddresses } = this.deps.killSwitch.network;
    const known = this.ownAddress;
    if (known !== null && isIpv4(known)) return null;
    const to = this.requestFor(4)?.own ?? uplinkAddresses.find(isIpv4) ?? null;
    return { port: endpoint?.port ?? port, to, to_port: port };
  }

  private byRouter(): EntryPoint {
    const { state } = this.ports[4];
    const way = { kind: "router", endpoint: null, protocol: null, error: null } as const;
    switch (state.name) {
      case "off":
        return { ...way, state: "closed", ...this.whyNobody() };
      case "asking":
        return { ...way, state: "asking" };
      case "closed":
        return { ...way, state: "closed", ...state.why };
      case "open": {
        const { by: protocol, address } = state.mapping;
        const endpoint = this.mapped(4);
        if (endpoint === null) return { ...way, protocol, state: "closed", ...unreachable(address) };
        return { ...way, protocol, state: "open", endpoint: formatEndpoint(endpoint.host, endpoint.port) };
      }
    }
  }

  private byIpv6(own: Address, port: number): EntryPoint {
    const { state } = this.ports[6];
    const mapped = this.mapped(6);
    if (state.name !== "open" || mapped === null) {
      const endpoint = formatEndpoint(own, port);
      return {
        kind: "own",
        state: "unknown",
        endpoint,
        protocol: null,
        ...reasonOf(refused("ipv6_may_be_blocked")),
      };
    }
    const endpoint = formatEndpoint(mapped.host, mapped.port);
    return { kind: "own", state: "open", endpoint, protocol: state.mapping.by, error: null };
  }

  private mapped(family: Family): Endpoint | null {
    const { state } = this.ports[family];
    if (state.name !== "open") return null;
    const { address, external } = state.mapping;
    const isUsed = address !== null && familyOf(address) === family && isPublic(address);
    return isUsed ? { host: address, port: external } : null;
  }

  /** What the router is asked for; null while there is nothing to ask for, or no router. */
  private requestFor(family: Family): RouterRequest | null {
    const { killSwitch, remote } = this.deps;
    const { access } = remote;
    if (access === null || !access.on || access.through !== null) return null;
    if (!killSwitch.isWanted || killSwitch.remote === null) return null;
    const { uplink, uplinkRouters, online } = killSwitch.network;
    const known = this.ownAddress;
    if (uplink === null || !online || (known !== null && isIpv4(known))) return null;
    // A router with a public address is the provider's.
    const router = uplinkRouters.find((each) => familyOf(each) === family && isPrivate(each));
    if (router === undefined) return null;
    const own = family === 6 ? known : this.addressBeside(router);
    const { port, endpoint } = access;
    return own === null ? null : { router, link: uplink, own, port, external: endpoint?.port ?? port };
  }

  /** The uplink's public address. */
  private get ownAddress(): Address | null {
    return publicAddressIn(this.deps.killSwitch.network.uplinkAddresses);
  }

  private addressBeside(router: Address): Address | null {
    const { uplinkAddresses, uplinkPrefixes } = this.deps.killSwitch.network;
    const prefixes = uplinkPrefixes.filter((prefix) => contains(prefix, router));
    return uplinkAddresses.find((each) => prefixes.some((prefix) => contains(prefix, each))) ?? null;
  }

  /** Why no router is asked. */
  private whyNobody(): Reason {
    const { uplinkAddresses, online } = this.deps.killSwitch.network;
    if (!online) return reasonOf(refused("uplink_down"));
    const own = uplinkAddresses.find(isIpv4);
    return own !== undefined && !isPrivate(own) && !isPublic(own)
      ? unreachable(own)
      : reasonOf(refused("home_router_missing"));
  }

  /** From the gateway's key, so that it is the same after a restart and nobody can guess it. */
  private get nonce(): Uint8Array {
    const key = REMOTE_PRIVATE_KEY.read(this.deps.store) ?? "";
    return createHmac("sha256", key).update("nonce for PCP").digest().subarray(0, NONCE_BYTES);
  }
}

function unreachable(address: Address | null): Reason {
  return reasonOf(
    address === null || !isHostAddress(address)
      ? refused("home_router_hides_address")
      : refused("address_unreachable", { address }),
  );
}

function isIpv4(address: Address): boolean {
  return familyOf(address) === 4;
}
