import { useState } from "preact/hooks";
import type { DeviceList } from "../../../devices/schema.ts";
import { MAX_EVERY_HOURS } from "../../../shared/bounds.ts";
import { isOutside } from "../../../shared/exits.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import type { Action } from "../../action.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { useFaults } from "../../parts/faults.ts";
import { Field, Form, Select } from "../../parts/form.tsx";
import type { Option } from "../../parts/options.tsx";
import { QuotaFields, type QuotaLabels } from "../../parts/quota-fields.tsx";
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
            hint={say("The name it should have in the list.")}
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
          <TimedFields {...known} draft={draft} bind={bind} set={set} />
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
  { value: "quota", text: say("A device has another quota for some time") },
  { value: "shared_rate", text: say("All others have another limit for some time") },
  { value: "shared_quota", text: say("All others have another quota for some time") },
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
  set: (some: Partial<Draft>) => void;
}

function TimedFields({ set, ...props }: TimedProps) {
  const { zone, draft, bind } = props;
  return (
    <>
      {draft.does === "shared_rate" && (
        <p class="quiet">{say("What devices without a limit of their own receive and send together.")}</p>
      )}
      {draft.does === "shared_quota" && (
        <p class="quiet">
          {say(
            "How much devices without a quota of their own send and receive together. One guest can use all of it.",
          )}
        </p>
      )}
      {!draft.does.startsWith("shared_") && <DeviceField {...props} />}
      {draft.does === "exit" && <ExitField {...props} />}
      {(draft.does === "rate" || draft.does === "shared_rate") && (
        <RateFields
          typed={draft.rate}
          onTyped={(rate) => set({ rate })}
          {...RATE_LABELS[draft.does]}
          hint={say("Empty means no limit.")}
        />
      )}
      {(draft.does === "quota" || draft.does === "shared_quota") && (
        <QuotaFields typed={draft.quota} onTyped={(quota) => set({ quota })} {...QUOTA_LABELS[draft.does]} />
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

function DeviceField({ list, draft, bind }: FieldsProps) {
  const devices = withOwn(
    list.devices.map(({ id }) => id),
    draft.device,
  );
  return (
    <Select
      label={say("Device")}
      options={devices.map((id) => ({ value: id, text: whoIn(id, list.devices) }))}
      {...bind("device")}
    />
  );
}

function ExitField({ list, draft, bind }: FieldsProps) {
  const exits = withOwn(
    list.exits.filter((exit) => !isOutside(exit)),
    draft.exit,
  );
  const exitOf = useExits();
  return (
    <Select
      label={say("Exit")}
      options={exits.map((exit) => ({ value: exit, text: exitOf(exit).text }))}
      {...bind("exit")}
    />
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
