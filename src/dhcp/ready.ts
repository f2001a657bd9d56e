import { CommandError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import { hasCarrier, networkIn, readNetwork } from "../network/host-network.ts";
import { keepUla, servedAmong } from "../network/ula.ts";
import { placeText } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import type { DhcpFiles } from "./config.ts";
import { DHCP_UNIT } from "./files.ts";
import { fittingConfig } from "./fit.ts";
import { lanFactsOf } from "./lans.ts";
import { assertAlone } from "./other-servers.ts";

interface Deps {
  host: Host;
  settings: Settings;
  files: DhcpFiles & { config: string };
  log: Pick<Log, "warn">;
}

const TRY_EVERY_MS = 20_000;

/**
 * Resolves once the DHCP server may start. Until then `tell` gets the reason, and null at the end. Throws
 * `GatewayError("unable")` at the first attempt if someone waits for the start.
 */
export async function awaitDhcp(deps: Deps, tell: (reason: string | null) => Promise<void>): Promise<void> {
  const { host, log } = deps;
  for (let told: string | null = null; ; ) {
    const reason = await prepareDhcp(deps).then(() => null, messageOf);
    if (reason === null) return tell(null);
    if (reason !== told) await tell(reason);
    if (told === null && !(await isRepeated(host))) throw new CommandError("unable", reason);
    if (reason !== told) log.warn(`DHCP waits: ${reason}`);
    told = reason;
    await host.sleep(TRY_EVERY_MS);
  }
}

/**
 * Runs before the DHCP server starts: gives the LAN's interfaces their IPv6 addresses, looks for other servers, and
 * replaces a configuration that no longer fits the LAN. Throws `GatewayError` if the server would do harm, or would be
 * useless.
 */
export async function prepareDhcp({ host, settings, files, log }: Deps): Promise<void> {
  if (settings.dhcp === null)
    throw new CommandError("unable", `--dhcp is off; to remove the DHCP server: ${setupCommand()}`);
  const reading = await readNetwork(host);
  const network = networkIn(reading, settings);
  const installed = await host.read(files.config);
  if (installed === null)
    throw new CommandError("unable", `${files.config} is missing; write it: ${setupCommand()}`);
  // IPv6 may be turned off on an interface. IPv4 is served in any case.
  await keepUla(host, network, settings).catch((error: unknown) =>
    log.warn(`the LAN has no IPv6 router: ${messageOf(error)}`),
  );
  const config = fittingConfig(installed, { network, facts: await lanFactsOf(host) }, settings, files);
  const links = servedAmong(network.lans, settings)
    .map((lan) => lan.interface)
    // Without a carrier no server could answer.
    .filter((name) => hasCarrier(reading.addresses.find(({ ifname }) => ifname === name)));
  if (links.length === 0)
    throw new CommandError(
      "unable",
      "no LAN interface has both an address and a carrier; connect the LAN's cable",
    );
  await assertAlone(host, links);
  placeText(files.config, config, 0o644);
}

/**
 * Whether systemd itself has started the unit again, so that nothing waits for it: neither a person, nor the boot,
 * which ends only when everything that it has started is up.
 */
async function isRepeated(host: Pick<Host, "run">): Promise<boolean> {
  const show = (...words: string[]) =>
    host.run(["systemctl", "show", "--value", ...words]).then((text) => text.trim());
  const [restarts, state] = await Promise.all([
    show("--property=NRestarts", DHCP_UNIT),
    show("--property=SystemState"),
  ]).catch(() => []);
  return Number(restarts ?? 0) > 0 && state !== "initializing" && state !== "starting";
}
