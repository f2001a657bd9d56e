import type { Host } from "../system/host.ts";
import { DHCP_UNIT } from "./files.ts";

/** `waiting`: the server waits for the cause in `reason`, which is null if systemd starts it again in a moment. */
export type DhcpState =
  | { name: "serving" }
  | { name: "waiting"; reason: string | null }
  | { name: "stopped" };

/** A variable of the unit with a digest of the unit, so that a process shows which unit it was started with. */
export const UNIT_DIGEST = "PORTCULLIS_UNIT_DIGEST";

const LOOK_EVERY_MS = 1_000;
/** A search for other servers takes 5 s, and its program takes one more second to start on a Pi. */
const STARTED_WITHIN_MS = 20_000;

/** After a start: why the DHCP server waits, for people; null if it serves. */
export async function dhcpWait(host: Pick<Host, "run" | "sleep" | "monotonic">): Promise<string | null> {
  const start = host.monotonic();
  for (;;) {
    // Right after the command, systemd may not have begun.
    await host.sleep(LOOK_EVERY_MS);
    const state = await dhcpState(host);
    if (state.name === "serving") return null;
    if (state.name === "stopped") return "it does not run. Its log: journalctl -u portcullis-dhcp";
    if (state.reason !== null) return `${state.reason}. It starts by itself when nothing is in its way`;
    if (host.monotonic() - start >= STARTED_WITHIN_MS)
      return "it is still starting. Its log: journalctl -u portcullis-dhcp";
  }
}

/** The digest of the unit that the running server was started with, as `NAME=value`; null if it does not run or has none. */
export async function startedUnit(host: Pick<Host, "run" | "read">): Promise<string | null> {
  const show = ["systemctl", "show", "--property=MainPID", "--value", DHCP_UNIT];
  const pid = (await host.run(show).catch(() => "")).trim();
  if (!/^[1-9]\d*$/.test(pid)) return null;
  const variables = (await host.read(`/proc/${pid}/environ`))?.split("\0") ?? [];
  return variables.find((variable) => variable.startsWith(`${UNIT_DIGEST}=`)) ?? null;
}

/** The state of the DHCP server according to systemd. */
export async function dhcpState(host: Pick<Host, "run">): Promise<DhcpState> {
  const shown = await host.run(["systemctl", "show", "--property=ActiveState,StatusText", DHCP_UNIT]);
  const property = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(shown)?.[1] ?? "";
  switch (property("ActiveState")) {
    case "active":
    case "reloading":
      return { name: "serving" };
    case "activating":
    case "deactivating":
      return { name: "waiting", reason: property("StatusText") || null };
    default:
      return { name: "stopped" };
  }
}
