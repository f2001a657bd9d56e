import type { Destination } from "../../destinations/schema.ts";
import type { Device, DeviceList } from "../../devices/schema.ts";
import { exitKindOf, isBlocked } from "../../shared/exits.ts";
import { standingOf } from "../../shared/verdict.ts";
import { placeOf } from "../../shared/verdict-texts.ts";
import type { TunnelRow } from "../../tunnel/schema.ts";
import { targetText } from "../destination.ts";
import { exitName, exitNow, isRemote, titleOf } from "../exit.ts";
import { bitsOf } from "../format.ts";
import { KINDS, kindOf } from "../kind.ts";
import { targetOf } from "../sentence.ts";
import type { BothWays } from "../traffic.ts";
import { type HomeNow, type Look, OUTSIDE, type PicturedDevice, type PicturedExit } from "./home-now.ts";

/** What the page knows. */
export interface Facts {
  list: DeviceList;
  tunnels: readonly TunnelRow[];
  destinations: readonly Destination[];
  /** Whether neither layer of the kill switch holds, or it was turned off. */
  isOpen: boolean;
  /** Whether one layer is missing, and the other one still blocks. */
  isWeakened: boolean;
  /** Whether another program's routing rule comes before the tunnels, so that they carry nothing of devices. */
  isDiverted: boolean;
  /** In bytes per second; null where it is not known. */
  rateOf: (device: string) => BothWays | null;
  tunnelRate: (name: string) => BothWays | null;
}

export function homeNowOf(facts: Facts): HomeNow {
  const { list, destinations, isOpen } = facts;
  const devices = list.devices.map((device) => ({ ...device, exit: exitNow(device, list) }));
  const names = new Set([
    ...facts.tunnels.map(({ name }) => name),
    ...devices.map(({ exit }) => exit),
    ...destinations.map(({ exit }) => exit),
    list.default_exit,
  ]);
  const exits = [...names].map((name) => exitIn(facts, name));
  const open = exits.some(({ look }) => look === "outside");
  const outside: PicturedExit = { ...plain(OUTSIDE), look: "outside", name: "" };
  const laneOf = new Map(exits.map(({ id, look }) => [id, look === "outside" ? OUTSIDE : id]));
  return {
    devices: devices.map((device) => deviceIn(facts, device, laneOf.get(device.exit) ?? device.exit)),
    exits: open ? [...exits.filter(({ look }) => look !== "outside"), outside] : exits,
    rules: destinations
      .filter(({ exit }) => laneOf.get(exit) === exit && !isBlocked(exit))
      .map((rule) => ({ id: rule.id, title: rule.note || targetText(rule), exit: rule.exit })),
    gate: isOpen ? "gone" : facts.isWeakened ? "weakened" : "whole",
  };
}

function deviceIn({ rateOf }: Facts, device: Device, exit: string): PicturedDevice {
  const { rx, tx } = rateOf(device.id) ?? { rx: 0, tx: 0 };
  return {
    id: device.id,
    title: titleOf(device),
    icon: KINDS[kindOf(device)].icon,
    group: device.group ?? "",
    exit,
    isRemote: isRemote(device),
    isOnline: device.online,
    rate: bitsOf(rx + tx),
  };
}

function exitIn(facts: Facts, name: string): PicturedExit {
  const isDefault = facts.list.default_exit === name;
  switch (exitKindOf(name)) {
    case "direct":
      return { ...plain(name), isDefault, look: "direct" };
    case "blocked":
      return { ...plain(name), isDefault, look: facts.isOpen ? "outside" : "closed" };
    case "tunnel":
      return { ...tunnelIn(facts, name), isDefault };
  }
}

function plain(id: string): PicturedExit {
  return {
    id,
    look: "closed",
    isTunnel: false,
    name: exitName(id),
    place: "",
    isDefault: false,
    rate: null,
    target: null,
  };
}

function tunnelIn({ tunnels, isOpen, isDiverted, tunnelRate }: Facts, name: string): PicturedExit {
  const row = tunnels.find((each) => each.name === name);
  const standing = row === undefined ? undefined : standingOf(row);
  const rate = tunnelRate(name);
  return {
    ...plain(name),
    isTunnel: true,
    look: lookOf(standing, isOpen, isDiverted),
    place: standing?.state === "connected" ? placeOf(standing) : "",
    rate: rate === null ? null : { down: bitsOf(rate.rx), up: bitsOf(rate.tx) },
    target: row?.state === "connecting" ? targetOf(row) : null,
  };
}

function lookOf(row: TunnelRow | undefined, isOpen: boolean, isDiverted: boolean): Look {
  if (row?.state !== "connected") return isOpen ? "outside" : "closed";
  return row.unanswered || isDiverted ? "silent" : "open";
}
