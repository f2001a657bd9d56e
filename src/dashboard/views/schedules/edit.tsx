import { useState } from "preact/hooks";
import type { DeviceList } from "../../../devices/schema.ts";
import { MAX_EVERY_HOURS } from "../../../shared/bounds.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import type { Action } from "../../action.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { useFaults } from "../../parts/faults.ts";
import { Field, Form, Select } from "../../parts/form.tsx";
import type { Option } from "../../parts/options.tsx";
import { RateFields } from "../../parts/rate-fields.tsx";
import { useExits } from "../../protection.ts";
import { type Schedule, whoIn } from "../../schedule.ts";
import { Days } from "./days.tsx";
import { bodyOf, type Draft, draftOf, FIELD_NAMES, lackOf, type TEXTS } from "./draft.ts";

export interface EditProps {
  /** The one to be changed; null for a new one. */
  schedule: Schedule | null;
  /** Names that another one has. */
  taken: readonly string[];
  list: DeviceList;
  tunnels: readonly TunnelRow[];
  zone: string;
  action: Action;
  onClose: () => void;
}

/** Asks what should happen, and when; stays open until that is saved. */
export function Edit({ schedule, taken, action, onClose, ...known }: EditProps) {
  const { devices, exits } = known.list;
  const [draft, setDraft] = useState(() => draftOf(schedule, devices[0]?.id ?? "", exits[0] ?? "blocked"));
  const faults = useFaults(FIELD_NAMES);
  const set = (some: Partial<Draft>) => setDraft((before) => ({ ...before, ...some }));
  const bind: Bind = (name) => ({
    name,
    value: draft[name],
    fault: faults.textFor(name),
    onValue: (value) => set({ [name]: value }),
  });
  const save = async () => {
    await change("PUT", pathOf("schedules", draft.name.trim()), bodyOf(draft));
    onClose();
    return say("The schedule {name} is saved.", { name: draft.name.trim() });
  };
  const isTimed = draft.does !== "move" || draft.repeats === "daily";
  return (
    <Dialog
      title={schedule === null ? say("Add a schedule") : say("Change {name}", { name: schedule.name })}
      onClose={onClose}
    >
      <Form
        action={action}
        faults={faults}
        check={() => lackOf(draft, taken)}
        work={save}
        submit={say("Save the schedule")}
        doing={say("Saving…")}
      >
        {schedule === null && (
          <Field
            label={say("Name")}
            hint={say("As you want to see it in the list.")}
            required
            {...bind("name")}
          />
        )}
        <Select
          label={say("What happens")}
          value={draft.does}
          onValue={(does) => set({ does })}
          options={DEEDS}
        />
        {draft.does === "move" ? (
          <MoveFields {...known} draft={draft} bind={bind} onRepeats={(repeats) => set({ repeats })} />
        ) : (
          <TimedFields {...known} draft={draft} bind={bind} onRate={(rate) => set({ rate })} />
        )}
        {isTimed && (
          <Days value={draft.days} onValue={(days) => set({ days })} fault={faults.textFor("days")} />
        )}
      </Form>
    </Dialog>
  );
}

const DEEDS: readonly Option<Draft["does"]>[] = [
  { value: "exit", text: say("A device has another exit for some time") },
  { value: "rate", text: say("A device has another limit for some time") },
  { value: "move", text: say("A tunnel moves to another server") },
];

type Bind = (name: (typeof TEXTS)[number]) => {
  name: string;
  value: string;
  fault: string | null;
  onValue: (value: string) => void;
};

interface FieldsProps extends Pick<EditProps, "list" | "tunnels" | "zone"> {
  draft: Draft;
  bind: Bind;
}

interface TimedProps extends FieldsProps {
  onRate: (rate: Draft["rate"]) => void;
}

function TimedFields({ list, zone, draft, bind, onRate }: TimedProps) {
  const devices = withOwn(
    list.devices.map(({ id }) => id),
    draft.device,
  );
  const exits = withOwn(
    list.exits.filter((exit) => exit !== "direct"),
    draft.exit,
  );
  const exitOf = useExits();
  return (
    <>
      <Select
        label={say("Device")}
        options={devices.map((id) => ({ value: id, text: whoIn(id, list.devices) }))}
        {...bind("device")}
      />
      {draft.does === "exit" ? (
        <Select
          label={say("Exit")}
          options={exits.map((exit) => ({ value: exit, text: exitOf(exit).text }))}
          {...bind("exit")}
        />
      ) : (
        <RateFields
          typed={draft.rate}
          onTyped={onRate}
          down={say("It receives at most, in Mbit/s")}
          up={say("It sends at most, in Mbit/s")}
          hint={say("Empty means no limit.")}
        />
      )}
      <Field label={say("From")} type="time" hint={clockHint(zone)} required {...bind("at")} />
      <Field
        label={say("Until")}
        type="time"
        required
        hint={say("On the next day if it is not later than “From”.")}
        {...bind("until")}
      />
    </>
  );
}

const REPEATS: readonly Option<Draft["repeats"]>[] = [
  { value: "daily", text: say("At a time of day") },
  { value: "hourly", text: say("Every few hours") },
];

interface MoveProps extends FieldsProps {
  onRepeats: (repeats: Draft["repeats"]) => void;
}

function MoveFields({ tunnels, zone, draft, bind, onRepeats }: MoveProps) {
  const names = withOwn(
    tunnels.map(({ name }) => name),
    draft.tunnel,
  );
  return (
    <>
      <Select
        label={say("Tunnel")}
        hint={say("To another server in the same place.")}
        options={names.map((name) => ({ value: name, text: name }))}
        {...bind("tunnel")}
      />
      <Select label={say("When")} value={draft.repeats} onValue={onRepeats} options={REPEATS} />
      {draft.repeats === "daily" ? (
        <Field label={say("At")} type="time" hint={clockHint(zone)} required {...bind("at")} />
      ) : (
        <Field
          label={say("Every … hours")}
          type="number"
          hint={say("1 to {most, number}", { most: MAX_EVERY_HOURS })}
          required
          min={1}
          max={MAX_EVERY_HOURS}
          {...bind("every_hours")}
        />
      )}
    </>
  );
}

/** What the schedule has may have gone from what there is. */
function withOwn(all: readonly string[], own: string): readonly string[] {
  return own === "" || all.includes(own) ? all : [...all, own];
}

function clockHint(zone: string): string {
  return say("On the gateway’s clock ({zone}).", { zone });
}
