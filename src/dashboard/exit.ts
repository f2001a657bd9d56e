import type { DeviceList } from "../devices/schema.ts";
import { STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { placeOf, type Tone } from "./sentence.ts";

/** Where an exit leads now, as part of a sentence and as a text of its own. */
export interface ExitState {
  icon: "shield" | "blocked" | "warning";
  tone: Tone;
  /** "by Gothenburg, Sweden" */
  where: string;
  /** "Gothenburg, Sweden" */
  detail: string;
  /** "main · Gothenburg, Sweden" */
  text: string;
}

/** What becomes of devices without a tunnel if nothing is blocked. */
export const OPEN_TEXT = "may leave outside the tunnel: the kill switch is off";

/** What becomes of a device whose exit another program's routing rule comes before. */
export const DIVERTED = {
  icon: "warning",
  tone: "partly",
  where: "may have no internet: another program’s routing rule comes first",
} as const;

/** `isOff` is whether the kill switch is off. */
export function exitOf(exit: string, tunnels: readonly TunnelRow[], isOff: boolean): ExitState {
  const [icon, tone, detail, where] = lookOf(exit, tunnels, isOff);
  return { icon, tone, detail, where, text: `${exit} · ${detail}` };
}

type Look = [icon: ExitState["icon"], tone: Tone, detail: string, where: string];

function lookOf(exit: string, tunnels: readonly TunnelRow[], isOff: boolean): Look {
  if (exit === "direct") return ["warning", "partly", "outside every tunnel", "direct, outside every tunnel"];
  const row = tunnels.find(({ name }) => name === exit);
  const place = row === undefined ? "" : placeOf(row);
  if (row?.unanswered)
    return ["warning", "partly", `${place} carries nothing`, `by ${place}, which carries nothing`];
  if (row?.state === "connected") return ["shield", "protected", place, `by ${place}`];
  const state = row?.state ?? "not known";
  if (exit === "blocked")
    return isOff
      ? ["warning", "exposed", "the kill switch is off", OPEN_TEXT]
      : ["blocked", "blocked", "no internet", "blocked"];
  return isOff
    ? ["warning", "exposed", state, OPEN_TEXT]
    : ["blocked", "blocked", state, `blocked: ${downText(exit, row)}`];
}

/** Why nothing leaves by a tunnel: "the tunnel tv has failed". */
export function downText(exit: string, row: TunnelRow | undefined): string {
  return `the ${tunnelTitle(exit)} ${row === undefined ? "is not known" : STATE_WORDS[row.state]}`;
}

type Device = DeviceList["devices"][number];

/** What people call a device. */
export function titleOf({ name, addresses, id }: Device): string {
  return name || (addresses[0] ?? id);
}

/** What is behind another router of the LAN. */
export function isNetwork(device: Device): boolean {
  return device.id.includes("/") && !isRemote(device);
}

/** A phone on the road, say, which comes in by WireGuard. */
export function isRemote({ kind }: Device): boolean {
  return kind === "remote";
}

/** Nobody has named it or chosen its exit. */
export function isNew({ named, assigned }: Device): boolean {
  return !named && !assigned;
}
