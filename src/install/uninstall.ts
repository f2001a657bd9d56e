import { existsSync } from "node:fs";
import { CommandError, messageOf } from "../base/errors.ts";
import { claimInstallation } from "../system/claim.ts";
import { PACKAGED } from "../system/layout.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertMachine } from "../system/machine.ts";
import { assertSomebody } from "./answers.ts";
import { interfaceIn } from "./environment.ts";
import { forwardersOn } from "./forwarders.ts";
import { filesByHand, type Remains, remainsIn } from "./machine.ts";
import { PATHS } from "./paths.ts";
import { filesPlan, networkPlan, type Removal, staysText, stopPlan, uninstallPlan } from "./removal.ts";
import { carryOut, type PlanEnvironment } from "./run.ts";
import { textOf } from "./step.ts";

export interface UninstallOptions {
  dryRun: boolean;
  /** Asks no questions. */
  yes: boolean;
  /** Whether to remove servers, keys and settings too; null asks. */
  removeState: boolean | null;
}

/** Restores the machine to what it was before `install`. */
export async function uninstall({ dryRun, yes, removeState }: UninstallOptions): Promise<void> {
  assertMachine();
  const host = new LinuxHost();
  const [environment, sysctlsBefore] = await Promise.all([
    host.read(PATHS.environment),
    host.read(PATHS.sysctlsBefore),
  ]);
  const base = interfaceIn(environment ?? "");
  const remains = await remainsIn(host, base);
  const servesDhcp = (await host.read(PATHS.dhcpConfig)) !== null;
  if (!dryRun && !yes)
    agree("Without the kill switch, this machine and its LAN reach the internet unprotected. Continue?");
  const goes =
    removeState ?? (!dryRun && !yes && agreesTo(`Remove servers, keys and settings (${PATHS.state}) too?`));
  const forwarders = await forwardersOn(host, base);
  const removal: Removal = {
    machine: { sysctlsBefore },
    remains,
    forwarders,
    keepState: !goes,
    byHand: filesByHand(),
  };
  const stays = staysText(removal);
  if (stays !== "") print(stays);
  if (dryRun) {
    print(`Dry run: nothing is changed. This would be done:\n\n${textOf(uninstallPlan(removal))}`);
    return;
  }
  await claimInstallation({ warn: (text) => print(`Warning: ${text}`) });
  await takeBack(removal, base, { host, root: "", say: print });
  if (servesDhcp)
    print(
      "This machine no longer serves DHCP. Switch it on again in the home router, then reconnect the devices. Until then they keep using this machine, or have no address.",
    );
  print(closingWords(goes, existsSync(PACKAGED.program) && process.env.DPKG_MAINTSCRIPT_NAME === undefined));
}

/** `isPackaged` unless dpkg itself is removing the package. */
export function closingWords(removesState: boolean, isPackaged: boolean): string {
  return [
    removesState
      ? "Portcullis is uninstalled."
      : `Portcullis is uninstalled; servers, keys and settings are kept in ${PATHS.state} and /etc/portcullis.`,
    ...(isPackaged ? ["The program stays; to remove it: sudo apt remove portcullis"] : []),
  ].join("\n");
}

/** Carries out the steps of `uninstallPlan` on what remains once the service has ended. */
export async function takeBack(removal: Removal, base: string, surroundings: PlanEnvironment): Promise<void> {
  const { host } = surroundings;
  try {
    await carryOut(stopPlan(removal), surroundings);
    await carryOut(networkPlan(await remainsIn(host, base)), surroundings);
    assertGone(await remainsIn(host, base));
    await carryOut(filesPlan(removal), surroundings);
  } catch (cause) {
    const way = "completed steps stay; run it again: sudo portcullis uninstall";
    throw new CommandError("unable", `${messageOf(cause)}; ${way}`, { cause });
  }
}

function assertGone({ network, rules, queues, routes, tables }: Remains): void {
  const left = [
    ...network,
    ...rules.map(({ priority, text }) => `ip rule ${priority} ${text}`),
    ...routes.map(({ family, table }) => `IPv${family} routes of table ${table}`),
    ...queues.map((link) => `queue of ${link}`),
    ...tables.map((table) => `table ${table}`),
  ];
  if (left.length > 0) throw new CommandError("unable", `not removed: ${left.join(", ")}`);
}

function agree(question: string): void {
  assertSomebody();
  if (!agreesTo(question)) throw new CommandError("unable", "nothing was changed");
}

function agreesTo(question: string): boolean {
  return confirm(question);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
