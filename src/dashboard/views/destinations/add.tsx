import { isOutside } from "../../../shared/exits.ts";
import { SERVICES } from "../../../shared/services.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { ApiError, change } from "../../api.ts";
import { targetsIn } from "../../destination.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useExitOptions } from "../../protection.ts";
import { ForWhom } from "./for-whom.tsx";

/** Asks to where, for whom and by which exit; stays open until that is saved. */
export function Add({ action, onClose }: { action: Action; onClose: () => void }) {
  const list = knownOf(useAnswer("devices"));
  const optionsOf = useExitOptions();
  const exits = list?.exits ?? [];
  return (
    <Dialog title={say("Add a rule")} onClose={onClose}>
      <Form<"destination", "service">
        of="destination"
        rows={({ exit = exits[0] ?? "blocked", service = "" }) => ({
          prefixes: {
            value: SERVICES.find(({ title }) => title === service)?.names ?? [],
            label: say("Destinations"),
            hint: say(
              "Names, such as example.com with all names below it, networks such as 203.0.113.0/24, or addresses, with commas between them.",
            ),
            required: true,
          },
          service: {
            label: say("Service"),
            hint: say("Fills in the names of a service, which you can change."),
            options: [
              { value: "", text: say("None of these") },
              ...SERVICES.map(({ title }) => ({ value: title, text: title })),
            ],
          },
          exit: {
            label: say("Exit"),
            hint: isOutside(exit) ? DIRECT : say("The exit that the traffic to them takes."),
            options: optionsOf(exits),
          },
          devices: {
            label: say("For"),
            draw: (field) => <ForWhom {...field} devices={list?.devices ?? []} />,
          },
          note: { label: say("Note"), hint: say("For your own reference.") },
        })}
        work={async ({ prefixes = [], service: _, ...others }) => {
          await change("POST", "destinations", { ...others, ...targetsIn(prefixes) }).catch(atTargets);
          onClose();
          return say("The rule is in force.");
        }}
        submit={say("Save the rule")}
        doing={say("Saving…")}
        action={action}
      />
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
