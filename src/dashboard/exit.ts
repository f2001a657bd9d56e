import type { DeviceList } from "../devices/schema.ts";
import { STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { placeOf, type Tone } from "./sentence.ts";

/** Where an exit leads now: in a sentence, and by itself. */
export interface ExitState {
  icon: "shield" | "blocked" | "warning";
  tone: Tone;
  /** "by Gothenburg, Sweden" */
  where: string;
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

/** `isOpen` is whether the kill switch is off. */
export function exitOf(exit: string, tunnels: readonly TunnelRow[], isOpen: boolean): ExitState {
  if (exit === "direct")
    return {
      icon: "warning",
      tone: "partly",
      where: "direct, outside every tunnel",
      text: "direct · outside every tunnel",
    };
  const row = tunnels.find(({ name }) => name === exit);
  if (row?.unanswered)
    return {
      icon: "warning",
      tone: "partly",
      where: `by ${placeOf(row)}, which carries nothing`,
      text: `${exit} · ${placeOf(row)} carries nothing`,
    };
  if (row?.state === "connected")
    return {
      icon: "shield",
      tone: "protected",
      where: `by ${placeOf(row)}`,
      text: `${exit} · ${placeOf(row)}`,
    };
  const state = row?.state ?? "not known";
  if (isOpen) {
    const text = exit === "blocked" ? "blocked · the kill switch is off" : `${exit} · ${state}`;
    return { icon: "warning", tone: "exposed", where: OPEN_TEXT, text };
  }
  if (exit === "blocked")
    return { icon: "blocked", tone: "blocked", where: "blocked", text: "blocked · no internet" };
  return {
    icon: "blocked",
    tone: "blocked",
    where: `blocked: ${downText(exit, row)}`,
    text: `${exit} · ${state}`,
  };
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
export function isNetwork({ id }: Device): boolean {
  return id.includes("/");
}

/** Nobody has named it or chosen its exit. */
export function isNew({ named, assigned }: Device): boolean {
  return !named && !assigned;
}
