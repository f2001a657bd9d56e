import type { LanNetwork } from "../../../devices/network-schema.ts";
import type { DeviceList } from "../../../devices/schema.ts";
import { networkIdOf } from "../../../shared/network-id.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { say } from "../../language.ts";
import { type QuotaLabels, quotaRows, rateRows } from "../../limit-rows.ts";
import type { FieldRow } from "../../parts/form-values.ts";
import type { Option } from "../../parts/option.ts";
import { DAYS, type Schedule, whoIn, whoOf } from "../../schedule.ts";
import { type Deed, deedOf } from "./draft.ts";

/** What a schedule can be made of. */
export interface Known {
  list: DeviceList;
  /** The exits that a schedule may give. */
  exits: readonly Option[];
  tunnels: readonly TunnelRow[];
  /** Of the LAN, if there are several. */
  networks: readonly LanNetwork[];
  zone: string;
}

/** What was typed and chosen. */
type Texts = { readonly [Name in "does" | "repeats" | "end"]?: string };

/** The fields of a schedule, or of a new one. A limit has the names of its own schema. */
export function rowsFor(schedule: Schedule | null, known: Known, texts: Texts = {}) {
  const deed = schedule !== null ? deedOf(schedule) : known.list.devices.length === 0 ? "move" : "exit";
  const does = texts.does ?? deed;
  return {
    name: schedule === null && { label: say("Name"), hint: say("The name it should have in the list.") },
    does: { label: say("What happens"), hint: HINTS[does], value: deed, options: DEEDS },
    ...(does === "move"
      ? moveRows(schedule, known, texts.repeats)
      : {
          ...(!does.startsWith("shared_") && { device: deviceRow(schedule, known) }),
          ...(does === "exit" && { exit: exitRow(schedule, known) }),
          ...limitRows(schedule, does, texts.end),
          ...timeRows(schedule, known, texts.repeats),
        }),
  };
}

const DEEDS: readonly Option<Deed>[] = [
  { value: "exit", text: say("A device has another exit for some time") },
  { value: "rate", text: say("A device has another limit for some time") },
  { value: "quota", text: say("A device has another quota for some time") },
  { value: "shared_rate", text: say("All others have another limit for some time") },
  { value: "shared_quota", text: say("All others have another quota for some time") },
  { value: "move", text: say("A tunnel moves to another server") },
];

/** More about what happens. */
const HINTS: Readonly<Record<string, string>> = {
  shared_rate: say("What devices without a limit of their own receive and send together."),
  shared_quota: say(
    "How much devices without a quota of their own send and receive together. One guest can use all of it.",
  ),
};

function deviceRow(schedule: Schedule | null, { list: { devices }, networks }: Known): FieldRow {
  const ids = [...devices.map(({ id }) => id), ...networks.map((each) => networkIdOf(each.interface))];
  const all = ids.map((id) => ({ value: id, text: whoIn(id, devices) }));
  const own = schedule === null ? undefined : whoOf(schedule);
  return {
    label: networks.length > 0 ? say("Device or network") : say("Device"),
    value: own,
    options: withOwn(all, own),
  };
}

function exitRow(schedule: Schedule | null, { exits }: Known): FieldRow {
  return { label: say("Exit"), value: schedule?.exit, options: withOwn(exits, schedule?.exit) };
}

/** With what the schedule limits now, of a device or of all others. */
function limitRows(schedule: Schedule | null, does: string, end: string | undefined) {
  const { rate, shared_rate, quota, shared_quota }: Partial<Schedule> = schedule ?? {};
  if (does === "rate" || does === "shared_rate") return rateRows(RATE_LABELS[does], rate ?? shared_rate);
  if (does === "quota" || does === "shared_quota")
    return quotaRows(QUOTA_LABELS[does], quota ?? shared_quota, end);
  return {};
}

const RATE_LABELS = {
  rate: {
    down: say("It receives at most, in Mbit/s"),
    up: say("It sends at most, in Mbit/s"),
  },
  shared_rate: {
    down: say("All others receive at most, in Mbit/s"),
    up: say("All others send at most, in Mbit/s"),
  },
};

const QUOTA_LABELS: Readonly<Record<"quota" | "shared_quota", QuotaLabels>> = {
  quota: {
    label: say("Its quota, in MB"),
    blocked: say("The device is blocked"),
    slower: say("The device is slower"),
    down: say("It then receives at most, in Mbit/s"),
    up: say("It then sends at most, in Mbit/s"),
  },
  shared_quota: {
    label: say("Quota of all others, in MB"),
    blocked: say("They are blocked"),
    slower: say("They are slower"),
    down: say("All others then receive at most, in Mbit/s"),
    up: say("All others then send at most, in Mbit/s"),
  },
};

/** How often it comes; a pause is one that comes once. */
const TIMES: readonly Option[] = [
  { value: "daily", text: say("Again and again, on certain days") },
  { value: "minutes", text: say("Once: from now on, for some minutes") },
  { value: "until", text: say("Once: from now on, until a time of day") },
];

function timeRows(schedule: Schedule | null, { zone }: Known, repeats = "daily") {
  const row = { repeats: { label: say("When"), value: "daily", options: TIMES } };
  switch (repeats) {
    case "minutes":
      return { ...row, minutes: { label: say("For … minutes"), value: 60, required: true as const } };
    case "until":
      return { ...row, until: timeRow(say("Until"), clockHint(zone), undefined) };
  }
  return {
    ...row,
    at: timeRow(say("From"), clockHint(zone), schedule?.at),
    until: timeRow(say("Until"), say("On the next day if it is not later than “From”."), schedule?.until),
    days: daysRow(schedule),
  };
}

function timeRow(label: string, hint: string, value: string | undefined): FieldRow {
  return { label, hint, value, type: "time", required: true };
}

function daysRow(schedule: Schedule | null): FieldRow {
  return {
    label: say("Days on which it begins"),
    value: schedule?.days ?? DAYS.map(([day]) => day),
  };
}

const REPEATS: readonly Option[] = [
  { value: "daily", text: say("At a time of day") },
  { value: "hourly", text: say("Every few hours") },
];

function moveRows(schedule: Schedule | null, { tunnels, zone }: Known, repeats?: string) {
  const usual = schedule?.every_hours === undefined ? "daily" : "hourly";
  const all = tunnels.map(({ name }) => ({ value: name, text: name }));
  return {
    tunnel: {
      label: say("Tunnel"),
      hint: say("To another server in the same place."),
      value: schedule?.tunnel,
      options: withOwn(all, schedule?.tunnel),
    },
    repeats: { label: say("When"), value: usual, options: REPEATS },
    ...((repeats ?? usual) === "daily"
      ? {
          at: timeRow(say("At"), clockHint(zone), schedule?.at),
          days: daysRow(schedule),
        }
      : {
          every_hours: {
            label: say("Every … hours"),
            value: schedule?.every_hours ?? 6,
            required: true as const,
          },
        }),
  };
}

/** What the schedule has may have gone from what there is. */
function withOwn(all: readonly Option[], own: string | undefined): readonly Option[] {
  const isThere = own === undefined || all.some(({ value }) => value === own);
  return isThere ? all : [...all, { value: own, text: own }];
}

function clockHint(zone: string): string {
  return say("On the gateway’s clock ({zone}).", { zone });
}
