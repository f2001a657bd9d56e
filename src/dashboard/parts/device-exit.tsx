import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../devices/schema.ts";
import { exitKindOf, isOutside } from "../../shared/exits.ts";
import { pauseName } from "../../shared/pauses.ts";
import { knownOf, refresh, useAnswer } from "../answers.ts";
import { change, pathOf } from "../api.ts";
import { type ExitState, exitNow, isNetwork, titleOf, usedUpText } from "../exit.ts";
import { namesIn, onlyText } from "../exit-order.ts";
import { say } from "../language.ts";
import { useExits, useIsOpen } from "../protection.ts";
import { momentOf, type Schedule, whoOf } from "../schedule.ts";
import { MINUTE_MS, useMinute } from "../traffic.ts";
import { AutosaveSelect } from "./autosave-select.tsx";
import type { Question } from "./dialog.tsx";
import { ExitsInOrder } from "./exits-in-order.tsx";
import { ViewLink } from "./link.tsx";
import type { Option } from "./option.ts";
import { Say } from "./say.tsx";

interface DeviceExitProps {
  device: Device;
  list: DeviceList;
}

/** The option for no exit of its own; no tunnel has this name. */
const DEFAULT = "";
/** Between the exits of an order; no exit has it in its name. */
const COMMA = ",";

/** Where the device leaves, as a choice. */
export function DeviceExit({ device, list }: DeviceExitProps) {
  const title = titleOf(device);
  const exitOf = useExits();
  const isOpen = useIsOpen();
  const exit = exitNow(device, list);
  const { text, trouble } = exitOf(exit);
  const why = exit === device.exit ? trouble : usedUpText();
  const order = device.exit_order;
  const [isOrdering, setOrdering] = useState(false);
  // Shown where the networks are.
  const networks = knownOf(useAnswer("networks", false))?.networks;
  const ofNetwork = networks?.find((each) => each.interface === device.interface)?.exit;
  const save = async (exit: string | readonly string[] | null) => {
    await change("PUT", devicePath(device), { exit });
    void refresh("devices");
  };
  return (
    <div class="device-exit">
      <span class="device-verb quiet small">{order ? say("leaves") : verbFor(device.exit)}</span>
      <AutosaveSelect
        label={say("Exit of {title}", { title })}
        value={device.assigned ? (order?.join(COMMA) ?? device.exit) : DEFAULT}
        options={optionsFor(device, list, exitOf, ofNetwork ?? list.default_exit)}
        from={list}
        save={(exit) => save(bodyOf(exit))}
        ask={(exit) => {
          if (isOutside(exit)) return questionAbout(device);
          return order && exit !== order.join(COMMA) ? questionAboutOrder(device, order, exit, isOpen) : null;
        }}
        other={{
          text: say(order ? "another order…" : "several in order…"),
          open: () => setOrdering(true),
        }}
      />
      {isOrdering && (
        <ExitsInOrder device={device} list={list} save={save} onClose={() => setOrdering(false)} />
      )}
      {order && <p class="small">{say("Now: {exit}", { exit: text })}</p>}
      <BySchedule id={device.id} what="exit" />
      {why !== null && <p class="small">{why}</p>}
    </div>
  );
}

interface ByScheduleProps {
  /** The device, or the network of the LAN; none for all others. */
  id?: string;
  what: "exit" | keyof typeof ENDS;
}

/** What saving does meanwhile. */
const ENDS = {
  rate: say("Saving ends what the schedule has set, and replaces the device’s own limit."),
  quota: say("Saving ends what the schedule has set, and replaces the device’s own quota."),
  shared_rate: say("Saving ends what the schedule has set, and replaces the limit of all others."),
  shared_quota: say("Saving ends what the schedule has set, and replaces the quota of all others."),
};

/** Why there is another exit or limit than a person has given, if a schedule has given one. */
export function BySchedule({ id, what }: ByScheduleProps) {
  const list = knownOf(useAnswer("schedules"));
  const schedule = list?.schedules.find(
    (each) => each.active && whoOf(each) === id && each[what] !== undefined,
  );
  return (
    schedule && (
      <>
        <Until schedule={schedule} zone={list?.time_zone ?? ""} />
        {what !== "exit" && schedule.network === undefined && <p class="small">{ENDS[what]}</p>}
      </>
    )
  );
}

function Until({ schedule: { name, next_at, device, once }, zone }: { schedule: Schedule; zone: string }) {
  const moment = momentOf(next_at, zone, useMinute() * MINUTE_MS);
  if (once !== undefined && name === pauseName(device ?? ""))
    return <p class="small">{say("Paused until {moment}.", { moment })}</p>;
  return (
    <p class="small">
      <Say
        message="By the schedule {schedule} until {moment}."
        parts={{ schedule: <ViewLink to="schedules">{name}</ViewLink>, moment }}
      />
    </p>
  );
}

/** Between the device and its exit, so that the row reads as a sentence. */
function verbFor(exit: string): string {
  switch (exitKindOf(exit)) {
    case "blocked":
      return say("is");
    case "direct":
      return say("leaves");
    case "tunnel":
      return say("goes through");
  }
}

export function devicePath({ id }: Pick<Device, "id">): string {
  return pathOf("devices", id);
}

function optionsFor(
  device: Device,
  list: DeviceList,
  exitOf: (exit: string) => ExitState,
  standard: string,
): Option[] {
  const exits = list.exits.filter((exit) => !isOutside(exit) || !isNetwork(device));
  const own = device.assigned && !exits.includes(device.exit) ? [device.exit] : [];
  const order = device.exit_order;
  return [
    ...(order
      ? [{ value: order.join(COMMA), text: say("in order: {exits}", { exits: namesIn(order) }) }]
      : []),
    { value: DEFAULT, text: defaultText(exitOf(standard)) },
    ...[...exits, ...own].map((exit) => ({ value: exit, text: exitOf(exit).text })),
  ];
}

/** A list is an order, and null is the default exit. */
function bodyOf(chosen: string): string | string[] | null {
  if (chosen.includes(COMMA)) return chosen.split(COMMA);
  return chosen === DEFAULT ? null : chosen;
}

/** The card of the default exit names its tunnel. */
export function defaultText({ text, detail, tone }: ExitState): string {
  return say("default: {exit}", { exit: tone === "protected" ? detail : text });
}

export function questionAboutOrder(
  device: Device,
  order: readonly string[],
  exit: string,
  isOpen: boolean,
): Question {
  return {
    title: say("Give {title} one exit only?", { title: titleOf(device) }),
    text: onlyText(device, order, exit, isOpen),
    confirm: say("Replace the order"),
  };
}

function questionAbout(device: Device): Question {
  const { id, name, named, exit_order } = device;
  const title = titleOf(device);
  // Any device can call itself like another one.
  const self =
    named || name === ""
      ? ""
      : `${say("The device itself says that its name is {name}; its MAC address is {id}.", { name, id })} `;
  const seen = say(
    "Your internet provider and the sites that {title} uses will see it as they would without a VPN, with your home’s own address and its DNS queries. The other devices keep their exits.",
    { title },
  );
  const replaced =
    exit_order === undefined
      ? ""
      : ` ${say("It has several exits in order: {exits}. This one replaces them.", { exits: namesIn(exit_order) })}`;
  return {
    title: say("Let {title} leave outside every tunnel?", { title }),
    text: `${self}${seen}${replaced}`,
    confirm: say("Let it leave directly"),
  };
}
