import { useState } from "preact/hooks";
import { isOutside } from "../../../shared/exits.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { ApiError, change } from "../../api.ts";
import { targetsIn } from "../../destination.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { useFields } from "../../parts/fields.ts";
import { Field, Form, Select } from "../../parts/form.tsx";
import { useExits } from "../../protection.ts";
import { ForWhom } from "./for-whom.tsx";

const MAX_NOTE_CHARACTERS = 200;

/** Asks to where, for whom and by which exit; stays open until that is saved. */
export function Add({ action, onClose }: { action: Action; onClose: () => void }) {
  const list = knownOf(useAnswer("devices"));
  const exitOf = useExits();
  const [devices, setDevices] = useState<string[]>([]);
  const { texts, faults, bind } = useFields({ prefixes: "", exit: "", note: "" });
  const exits = list?.exits ?? [];
  const exit = texts.exit || (exits[0] ?? "blocked");
  const save = async () => {
    const body = { ...targetsIn(texts.prefixes), devices, exit, note: texts.note.trim() };
    await change("POST", "destinations", body).catch(atTargets);
    onClose();
    return say("The rule is in force.");
  };
  return (
    <Dialog title={say("Add a rule")} onClose={onClose}>
      <Form action={action} faults={faults} work={save} submit={say("Save the rule")} doing={say("Saving…")}>
        <Field
          label={say("Destinations")}
          hint={say(
            "Names, such as example.com with all names below it, networks such as 203.0.113.0/24, or addresses, with commas between them.",
          )}
          required
          {...bind("prefixes")}
        />
        <Select
          label={say("Exit")}
          hint={isOutside(exit) ? DIRECT : say("The exit that the traffic to them takes.")}
          {...bind("exit")}
          value={exit}
          options={exits.map((each) => ({ value: each, text: exitOf(each).text }))}
        />
        <ForWhom devices={list?.devices ?? []} value={devices} onValue={setDevices} />
        <Field
          label={say("Note")}
          hint={say("For your own reference; may be left empty.")}
          maxLength={MAX_NOTE_CHARACTERS}
          {...bind("note")}
        />
      </Form>
    </Dialog>
  );
}

const DIRECT = say(
  "Outside every tunnel: your internet provider sees it, and whatever else has the same addresses leaves there too.",
);

/** One field takes names and networks. The gateway’s words may follow the page’s in a line of their own. */
function atTargets(error: unknown): never {
  if (!(error instanceof ApiError)) throw error;
  throw new ApiError(error.message.replace(/^names\b/im, "prefixes"), error.status);
}
