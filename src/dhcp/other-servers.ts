import { CommandError } from "../base/errors.ts";
import { offersOn } from "../network/dhcp.ts";
import type { Host } from "../system/host.ts";

/**
 * Throws `GatewayError("unable")` if another DHCP server answers on one of these links: it would give some of the devices
 * another router.
 */
export async function assertAlone(host: Host, links: readonly string[]): Promise<void> {
  const offers = await Promise.all(links.map((link) => offersOn(host, link)));
  const servers = [
    ...new Set(offers.flat().map(({ server, interface: link }) => `${server} on ${link}`)),
  ].sort();
  if (servers.length === 0) return;
  throw new CommandError(
    "unable",
    `another DHCP server answers: ${servers.join(", ")}; devices that ask it would not use the gateway. Switch DHCP off there, usually in the settings of the home router`,
  );
}

/** Throws `GatewayError("unable")` if a program of this machine serves DHCP: both would share the port. */
export async function assertPortFree(host: Pick<Host, "run">): Promise<void> {
  const sockets = await host.run(["ss", "-Hulnp", "sport = :67"]);
  if (sockets.trim() === "") return;
  const program = /users:\(\("([^"]+)"/.exec(sockets)?.[1] ?? "a program";
  throw new CommandError(
    "unable",
    `--dhcp: ${program} serves DHCP on this machine already; end it first, or leave DHCP to it and install without --dhcp`,
  );
}
