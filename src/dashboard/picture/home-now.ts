import type { IconName } from "../parts/icon.tsx";

/**
 * What the picture of the home is drawn from. It says what happens, not what was chosen: a device whose tunnel is down
 * has the lane of that tunnel, closed; with the kill switch off it has the lane `OUTSIDE`.
 */
export interface HomeNow {
  devices: readonly PicturedDevice[];
  exits: readonly PicturedExit[];
  rules: readonly PicturedRule[];
  gate: Gate;
}

/** Whether the kernel has the kill switch: all of it, one of its layers, or so little that devices might leave in clear. */
export type Gate = "whole" | "weakened" | "gone";

export interface PicturedDevice {
  id: string;
  title: string;
  icon: IconName;
  /** The person or room that it belongs to; empty for none. */
  group: string;
  /** The id of the exit that it has now. */
  exit: string;
  isRemote: boolean;
  isOnline: boolean;
  /** In bits per second, both ways together. */
  rate: number;
}

/** What becomes of what goes to an exit. */
export type Look =
  /** A tunnel that carries. */
  | "open"
  /** A tunnel that is up, and from which nothing comes back. */
  | "silent"
  /** Nothing leaves. */
  | "closed"
  /** Outside every tunnel, as a person wants. */
  | "direct"
  /** Outside every tunnel, because there is no kill switch. */
  | "outside";

export interface PicturedExit {
  id: string;
  look: Look;
  isTunnel: boolean;
  /** What it is called: "main". */
  name: string;
  /** Where it leads: "Gothenburg, Sweden"; empty where there is no place. */
  place: string;
  /** Whether devices without an exit of their own have it. */
  isDefault: boolean;
  /** Received and sent, in bits per second; null where it is not known. */
  rate: { down: number; up: number } | null;
  /** Where it is being moved to; null if it stays. */
  target: string | null;
}

/** What goes by another exit than its device does. */
export interface PicturedRule {
  id: string;
  title: string;
  exit: string;
}

/** No tunnel can have such a name. */
export const OUTSIDE = "/outside";
