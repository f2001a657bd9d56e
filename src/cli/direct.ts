import { partsOf } from "../app/parts.ts";
import { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import { withdrawDirect } from "../destinations/withdraw-direct.ts";
import type { Direct } from "../devices/direct.ts";
import { listTable } from "../killswitch/table.ts";
import { askOperator } from "../operator/operator.ts";
import { claimGateway } from "../system/claim.ts";
import type { Output } from "./api-command.ts";
import { asRoot } from "./root.ts";
import { printable } from "./text.ts";

/**
 * Allows or withdraws the exit direct, or shows which devices have it: through the running service, or directly if none
 * runs.
 */
export async function direct(settings: Settings, wanted?: "on" | "off"): Promise<Output> {
  asRoot(wanted === undefined ? "direct" : `direct ${wanted}`);
  const request = wanted === undefined ? "direct" : (`direct/${wanted}` as const);
  const live = await askOperator(settings.stateDir, request, null);
  const json = live?.answer ?? (await directOffline(settings, wanted));
  return { json, text: textOf(json) };
}

async function directOffline(settings: Settings, wanted?: "on" | "off"): Promise<Direct> {
  if (wanted === undefined) return (await partsOf(settings)).devices.direct;
  // A service that is starting or stopping is changing the table.
  await claimGateway(settings, new Log(settings.logLevel));
  const { devices, destinations, tunnels, catalogue, host } = await partsOf(settings);
  if (wanted === "on") return devices.setDirect(true);
  return withdrawDirect({ devices, destinations }).finally(async () => {
    // The rules that a service has left in the kernel still let the devices out, whether it was saved or not.
    if ((await listTable(host)) !== null) await tunnels.start(catalogue);
  });
}

function textOf({ allowed, devices }: Direct): string {
  if (!allowed)
    return "The exit direct is not allowed: every device goes through a tunnel, or nowhere.\nTo allow it: sudo portcullis direct on\n";
  const lines = devices.map(({ id, name }) => `  ${id}${name === null ? "" : `  ${printable(name)}`}\n`);
  const who =
    devices.length === 0
      ? "No device has it yet; to give it to one: portcullis device <device> exit direct\n"
      : `These devices leave outside the tunnel:\n${lines.join("")}`;
  return `The exit direct is allowed: a device that has it leaves outside the tunnel, and your internet provider sees its traffic.\n${who}`;
}
