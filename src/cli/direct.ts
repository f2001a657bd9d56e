import { GatewayError } from "../errors.ts";
import { askOperator } from "../operator/operator.ts";
import type { Settings } from "../settings.ts";
import type { Said } from "./asking.ts";
import { asRoot } from "./root.ts";
import { printable } from "./text.ts";

/** Allows devices to leave outside the tunnel, or withdraws that: a running service moves them in the kernel. */
export async function setDirect(settings: Settings, wanted: "on" | "off"): Promise<Said> {
  asRoot(`direct ${wanted}`);
  const said = await askOperator(settings.stateDir, `direct/${wanted}`, null);
  if (said === null)
    throw new GatewayError("unable", "the service does not run; start it: systemctl start portcullis");
  return { json: { success: true, ...said.answer }, text: textOf(wanted, said.answer.blocked) };
}

function textOf(wanted: "on" | "off", blocked: readonly string[]): string {
  if (wanted === "on")
    return "Devices may be given the exit direct now: portcullis device <id or name> exit direct\n";
  const none = "No device may leave outside the tunnel now.\n";
  return blocked.length === 0 ? none : `${none}Blocked: ${blocked.map(printable).join(", ")}\n`;
}
