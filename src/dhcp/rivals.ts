import { GatewayError, messageOf } from "../errors.ts";
import { Log } from "../log.ts";
import { offersOn } from "../network/dhcp.ts";
import { hasCarrier, networkIn, readNetwork } from "../network/host-network.ts";
import { keepUla, servedAmong } from "../network/ula.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";

/**
 * Throws `GatewayError("unable")` if another DHCP server answers on one of these links: it would give some of the devices
 * another router.
 */
export async function assertAlone(host: Host, links: readonly string[]): Promise<void> {
  const offers = await Promise.all(links.map((link) => offersOn(host, link)));
  const servers = [...new Set(offers.flat().map(({ server, interface: link }) => `${server} on ${link}`))];
  if (servers.length === 0) return;
  throw new GatewayError(
    "unable",
    `another DHCP server answers: ${servers.join(", ")}; devices that ask it would not use the gateway. Switch DHCP off there, usually in the settings of the home router`,
  );
}

/** Throws `GatewayError("unable")` if a program of this machine serves DHCP: both would share the port. */
export async function assertPortFree(host: Pick<Host, "run">): Promise<void> {
  const sockets = await host.run(["ss", "-Hulnp", "sport = :67"]);
  if (sockets.trim() === "") return;
  const program = /users:\(\("([^"]+)"/.exec(sockets)?.[1] ?? "a program";
  throw new GatewayError(
    "unable",
    `--dhcp: ${program} serves DHCP on this machine already; end it first, or leave DHCP to it and install without --dhcp`,
  );
}

/** Before the DHCP server starts: gives the LAN's interfaces their IPv6 addresses, and looks for other servers. */
export async function prepareDhcp(
  host: Host,
  settings: Settings,
  log: Pick<Log, "warn"> = new Log(settings.logLevel),
): Promise<void> {
  const reading = await readNetwork(host);
  const network = networkIn(reading, settings);
  // IPv6 may be turned off on an interface; IPv4 is served all the same.
  await keepUla(host, network, settings).catch((error: unknown) =>
    log.warn(`the LAN has no IPv6 router: ${messageOf(error)}`),
  );
  const links = servedAmong(network.lans, settings)
    .map((lan) => lan.interface)
    // Without a carrier no server could answer.
    .filter((name) => hasCarrier(reading.addresses.find(({ ifname }) => ifname === name)));
  if (links.length === 0)
    throw new GatewayError("unable", "no LAN interface has both an address and a carrier yet");
  await assertAlone(host, links);
}
