import type { DnsLists } from "../../../dns/schema.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { ForWhom } from "./for-whom.tsx";
import { bodyWith } from "./wanted.ts";

/** Asks for the address of a list, and for whom it is. */
export function AddList(props: { lists: DnsLists; action: Action; onClose: () => void }) {
  const { lists, action, onClose } = props;
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  return (
    <Dialog title={say("Add a list")} onClose={onClose}>
      <Form
        of="blockList"
        rows={{
          url: {
            label: say("Address"),
            hint: say(
              "An https address of a list of names, of a hosts file or of ||name^ rules. It is fetched through the tunnel, once a day.",
            ),
            pattern: "https://.+",
            title: say("an https address"),
          },
          devices: { label: say("For"), draw: (field) => <ForWhom {...field} devices={devices} /> },
        }}
        work={async (given) => {
          await change("PUT", "dns/lists", bodyWith(lists, { lists: [...lists.lists, given] }));
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
