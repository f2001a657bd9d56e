import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { DHCP_FILES, DHCP_UNIT } from "./files.ts";
import { fittingConfig } from "./fit.ts";
import { lanFactsOf } from "./lans.ts";

interface Deps {
  host: Pick<Host, "run" | "read" | "sleep">;
  settings: Settings;
  network: () => HostNetwork;
  log: Pick<Log, "warn">;
}

/** A network manager that starts again removes addresses for a moment. */
const LOOK_EVERY_MS = 10_000;

/** Lets systemd start the DHCP server again when its configuration no longer fits the LAN, until `signal` aborts. */
export async function watchDhcpConfig(deps: Deps, signal: AbortSignal): Promise<void> {
  const { host, settings, network, log } = deps;
  if (settings.dhcp === null) return;
  let before: HostNetwork | null = null;
  let done: HostNetwork | null = null;
  let told: string | null = null;
  while (!signal.aborted) {
    await host.sleep(LOOK_EVERY_MS, signal);
    const now = network();
    const isStable = Bun.deepEquals(now, before);
    before = now;
    if (signal.aborted || !isStable || Bun.deepEquals(now, done)) continue;
    // A command that failed may succeed the next time.
    const trouble = await refit(deps, now).then(() => null, messageOf);
    if (trouble === null) done = now;
    else if (trouble !== told) log.warn(`the DHCP server does not fit the LAN: ${trouble}`);
    told = trouble;
  }
}

/** The server's start writes the new configuration. */
async function refit({ host, settings, log }: Deps, network: HostNetwork): Promise<void> {
  const installed = await host.read(DHCP_FILES.config);
  if (installed === null) return;
  const facts = await lanFactsOf(host);
  if (fittingConfig(installed, { network, facts }, settings, DHCP_FILES) === installed) return;
  await host.run(["systemctl", "--no-block", "try-restart", DHCP_UNIT]);
  log.warn("the LAN has changed: the DHCP server starts again with addresses of it");
}
