import type { DeviceList } from "../devices/schema.ts";
import { exitKindOf } from "../shared/exits.ts";
import { isUsedUp } from "../shared/quotas.ts";
import { standingOf } from "../shared/verdict.ts";
import { placeOf, type Tone } from "../shared/verdict-texts.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { downText } from "./down.ts";
import { say } from "./language.ts";
import type { Option } from "./parts/option.ts";

/** Where an exit leads now. */
export interface ExitState {
  icon: "shield" | "blocked" | "warning" | "unknown";
  tone: Tone;
  /** Why devices do not go through it as they should, as a sentence; null if they do. */
  trouble: string | null;
  /** "Gothenburg, Sweden" */
  detail: string;
  /** "main · Gothenburg, Sweden" */
  text: string;
}

/** What becomes of a device whose exit another program's routing rule comes before. */
export const DIVERTED = {
  icon: "warning",
  tone: "partly",
  text: say("It might have no internet: another program’s routing rule comes first."),
} as const;

/** `tunnels` are null while they are not known; `isOff` is whether the kill switch is off. */
export function exitOf(exit: string, tunnels: readonly TunnelRow[] | null, isOff: boolean): ExitState {
  const [icon, tone, detail, trouble = null] = lookOf(exit, tunnels, isOff);
  return { icon, tone, detail, trouble, text: `${exitName(exit)} · ${detail}` };
}

/** The exit that a device has now: whom a quota blocks has none, whatever was chosen for it. */
export function exitNow(
  { exit, quota, network_used_up }: Pick<Device, "exit" | "quota" | "network_used_up">,
  list: Pick<DeviceList, "shared_quota"> | null,
): string {
  return network_used_up || isUsedUp(quota ?? list?.shared_quota) ? "blocked" : exit;
}

/** Why it has none. */
export function usedUpText(): string {
  return say(
    "{count, plural, one {# device has used up its quota and is} other {# devices have used up their quota and are}} blocked until it begins again.",
    { count: 1 },
  );
}

/** What an exit is called: a tunnel by its name. */
export function exitName(exit: string): string {
  switch (exitKindOf(exit)) {
    case "direct":
      return say("direct");
    case "blocked":
      return say("blocked");
    case "tunnel":
      return exit;
  }
}

type Look = [icon: ExitState["icon"], tone: Tone, detail: string, trouble?: string];

function lookOf(exit: string, tunnels: readonly TunnelRow[] | null, isOff: boolean): Look {
  switch (exitKindOf(exit)) {
    case "direct":
      return ["warning", "partly", say("outside every tunnel")];
    case "blocked":
      return isOff
        ? ["warning", "exposed", say("the kill switch is off"), OPEN]
        : ["blocked", "blocked", say("no internet")];
    case "tunnel":
      return tunnelLook(exit, tunnels, isOff);
  }
}

function tunnelLook(exit: string, tunnels: readonly TunnelRow[] | null, isOff: boolean): Look {
  if (tunnels === null) return ["unknown", "unknown", say("not known")];
  const row = tunnels.map(standingOf).find(({ name }) => name === exit);
  const place = row === undefined ? "" : placeOf(row);
  if (row?.unanswered) return ["warning", "partly", say("no data gets through {place}", { place })];
  if (row?.state === "connected") return ["shield", "protected", place];
  if (isOff) return ["warning", "exposed", stateName(row), OPEN];
  return ["blocked", "blocked", stateName(row), say("Blocked: {reason}.", { reason: downText(exit, row) })];
}

/** What becomes of devices without a tunnel if nothing is blocked. */
const OPEN = say("Might leave outside the tunnel: the kill switch is off.");

function stateName(row: TunnelRow | undefined): string {
  return say(
    "{state, select, disconnected {disconnected} connecting {connecting} connected {connected} reconnecting {reconnecting} failed {failed} other {not known}}",
    { state: row?.state ?? "" },
  );
}

type Device = DeviceList["devices"][number];

/** What people call a device. */
export function titleOf({ name, addresses, id }: Device): string {
  return name || (addresses[0] ?? id);
}

/** Devices as a choice. */
export function deviceOptions(devices: readonly Device[]): Option[] {
  return devices.map((device) => ({ value: device.id, text: titleOf(device) }));
}

/** What is behind another router of the LAN. */
export function isNetwork(device: Device): boolean {
  return device.id.includes("/") && !isRemote(device);
}

/** Addresses of a mesh (RFC 6598). */
const SHARED = /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./;

/** What comes by a mesh, and so is a device by its address. `meshes` is their interfaces. */
export function isOfMesh({ id, interface: link }: Device, meshes: readonly string[]): boolean {
  return link === null ? SHARED.test(id) : meshes.includes(link);
}

/** A phone away from home, say, which comes in by WireGuard. */
export function isRemote({ kind }: Device): boolean {
  return kind === "remote";
}

/** Nobody has named it or chosen its exit. */
export function isNew({ named, assigned }: Device): boolean {
  return !named && !assigned;
}
