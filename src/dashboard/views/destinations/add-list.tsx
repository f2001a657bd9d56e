import type { DnsLists } from "../../../dns/schema.ts";
import { BLOCK_LISTS } from "../../../shared/block-lists.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { choiceOf } from "../../block-lists.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { bodyWith } from "../../wanted-lists.ts";
import { ForWhom } from "./for-whom.tsx";

/** The option for a list that is not ours. */
const OTHER = "";

/** Asks for a list, and for whom it is. */
export function AddList(props: { lists: DnsLists; action: Action; onClose: () => void }) {
  const { lists, action, onClose } = props;
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  const offered = BLOCK_LISTS.filter(({ url }) => lists.lists.every((each) => each.url !== url));
  const options = [
    ...offered.map((list) => ({ value: list.url, text: choiceOf(list) })),
    { value: OTHER, text: say("Another list, by its address") },
  ];
  return (
    <Dialog title={say("Add a list")} onClose={onClose}>
      <Form<"blockList", "choice">
        of="blockList"
        rows={({ choice = options[0]?.value }) => ({
          choice: { label: say("List"), options, value: options[0]?.value },
          url: choice === OTHER && {
            label: say("Address"),
            hint: say(
              "An https address of a list of names, of a hosts file or of ||name^ rules. It is fetched through the tunnel, once a day.",
            ),
            pattern: "https://.+",
            title: say("an https address"),
          },
          devices: { label: say("For"), draw: (field) => <ForWhom {...field} devices={devices} /> },
        })}
        work={async ({ choice, ...given }) => {
          const added = choice === undefined ? given : { ...given, url: choice };
          await change("PUT", "dns/lists", bodyWith(lists, { lists: [...lists.lists, added] }));
          onClose();
          return say("The list is fetched through the tunnel.");
        }}
        submit={say("Add the list")}
        doing={say("Adding…")}
        action={action}
      />
    </Dialog>
  );
}
