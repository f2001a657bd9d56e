import type { Device } from "../../../devices/schema.ts";
import { say } from "../../language.ts";
import type { Place } from "./held.ts";

/** By what devices stand together. */
export type Together = "online" | "exit" | "group" | "network";

export const TOGETHER: Readonly<Record<Together, string>> = {
  online: say("Online"),
  exit: say("Exit"),
  group: say("Person or room"),
  network: say("Network"),
};

export interface Section {
  title: string;
  devices: readonly Device[];
}

interface Placing {
  placeOf: (device: Device) => Place;
  /** "main · Gothenburg, Sweden" */
  exitText: (exit: string) => string;
}

/** The devices, which are in order, under titles. No section is empty. */
export function sectionsOf(
  devices: readonly Device[],
  by: Together,
  { placeOf, exitText }: Placing,
): Section[] {
  const titleOf = (device: Device) => titleFor(placeOf(device), by, exitText);
  return [...Map.groupBy(devices, titleOf)]
    .map(([title, own]) => ({ title, devices: own }))
    .toSorted((one, two) => rankOf(one) - rankOf(two) || one.title.localeCompare(two.title));
}

function titleFor(
  { online, exit, group, network, interface: link }: Place,
  by: Together,
  exitText: Placing["exitText"],
): string {
  switch (by) {
    case "online":
      return online ? ONLINE : OFFLINE;
    case "exit":
      return exitText(exit);
    case "group":
      return group ?? NO_GROUP;
    case "network":
      return network ?? link ?? OFFLINE;
  }
}

const ONLINE = say("Online");
const OFFLINE = say("Not online");
const NO_GROUP = say("Without a group");

function rankOf({ title }: Section): number {
  return title === ONLINE ? 0 : title === NO_GROUP || title === OFFLINE ? 2 : 1;
}
