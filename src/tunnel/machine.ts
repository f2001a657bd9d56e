import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { applySysctls, sourceCheckAgain, sysctlsFor } from "../network/sysctls.ts";
import type { Host } from "../system/host.ts";
import { together } from "./dialer.ts";
import type { Tunnel } from "./tunnel.ts";

interface Deps {
  host: Host;
  killSwitch: KillSwitch;
  /** The machine's own network, as it is now. */
  findNetwork: () => Promise<HostNetwork>;
  tunnels: () => readonly Tunnel[];
  log: Pick<Log, "info" | "warn">;
}

/** The machine's own network, which all tunnels share. */
export class Machine {
  constructor(private readonly deps: Deps) {}

  /**
   * Reads the machine's own network and applies changes, in no tunnel's queue: the LAN must be served while a server is
   * dialled.
   */
  async checkNetwork(): Promise<void> {
    const { killSwitch, findNetwork, tunnels, log } = this.deps;
    const found = await findNetwork();
    const known = killSwitch.network;
    // An uplink without a route is still the uplink: the firewall must let the router's messages in to restore the route.
    const network =
      found.uplink === null ? { ...found, uplink: known.uplink, uplinkMtu: known.uplinkMtu } : found;
    if (Bun.deepEquals(network, known)) return killSwitch.restoreRoutes();
    if (network.online !== known.online) log.info(`the uplink is ${network.online ? "up" : "down"}`);
    const updated = killSwitch.updateNetwork(network);
    for (const { controller } of tunnels())
      controller.dropUnusable().catch((error: unknown) => log.warn(messageOf(error)));
    await together([updated, this.setSysctls(network)]);
  }

  async setSysctls(network = this.deps.killSwitch.network): Promise<void> {
    const { host } = this.deps;
    const again = await sourceCheckAgain(host, network.uplink);
    const changed = await applySysctls(host, [...again, ...sysctlsFor(network)]);
    for (const { path, value, why } of changed) this.deps.log.info(`set net/${path} to ${value}: ${why}`);
  }
}
