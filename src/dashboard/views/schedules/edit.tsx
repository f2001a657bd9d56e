import { isOutside } from "../../../shared/exits.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import type { FieldRow } from "../../parts/form-values.ts";
import { useExitOptions } from "../../protection.ts";
import type { Schedule } from "../../schedule.ts";
import { Days } from "./days.tsx";
import { bodyOf, lackOf } from "./draft.ts";
import { type Known, rowsFor } from "./rows.ts";

export interface EditProps extends Omit<Known, "exits" | "networks"> {
  /** The one to be changed; null for a new one. */
  schedule: Schedule | null;
  /** Names that another one has. */
  taken: readonly string[];
  action: Action;
  onClose: () => void;
}

/** Asks what should happen, and when; stays open until that is saved. */
export function Edit({ schedule, taken, action, onClose, ...known }: EditProps) {
  const exits = useExitOptions()(known.list.exits.filter((exit) => !isOutside(exit)));
  const networks = knownOf(useAnswer("networks"))?.networks ?? [];
  const several = networks.length > 1 ? networks : [];
  return (
    <Dialog
      title={schedule === null ? say("Add a schedule") : say("Change {name}", { name: schedule.name })}
      onClose={onClose}
    >
      <Form<"schedule", "does" | "repeats" | "end">
        of="schedule"
        rows={(texts) => withDays(rowsFor(schedule, { ...known, exits, networks: several }, texts))}
        check={(draft) => lackOf(draft, taken)}
        work={async (draft) => {
          const name = schedule?.name ?? draft.name;
          await change("PUT", pathOf("schedules", name), bodyOf(draft));
          onClose();
          return say("The schedule {name} is saved.", { name });
        }}
        submit={say("Save the schedule")}
        doing={say("Saving…")}
        action={action}
      />
    </Dialog>
  );
}

function withDays<Rows extends object>(rows: Rows & { days?: FieldRow }): Rows {
  return rows.days === undefined ? rows : { ...rows, days: { ...rows.days, draw: Days } };
}
