import { useState } from "preact/hooks";
import type { DnsLists } from "../../../dns/schema.ts";
import type { Action } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { ForWhom } from "./for-whom.tsx";
import { bodyWith } from "./wanted.ts";

const MAX_URL_CHARACTERS = 500;

/** Asks for the address of a list, and for whom it is. */
export function AddList(props: { lists: DnsLists; action: Action; onClose: () => void }) {
  const { lists, action, onClose } = props;
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  const [url, setUrl] = useState("");
  const [ids, setIds] = useState<string[]>([]);
  const save = async () => {
    const more = [...lists.lists, { url: url.trim(), devices: ids }];
    await change("PUT", "dns/lists", bodyWith(lists, { lists: more }));
    onClose();
    return say("The list is fetched through the tunnel.");
  };
  return (
    <Dialog title={say("Add a list")} onClose={onClose}>
      <Form action={action} work={save} submit={say("Add the list")} doing={say("Adding…")}>
        <Field
          label={say("Address")}
          hint={say(
            "An https address of a list of names, of a hosts file or of ||name^ rules. It is fetched through the tunnel, once a day.",
          )}
          name="url"
          value={url}
          onValue={setUrl}
          pattern="https://.+"
          title={say("an https address")}
          maxLength={MAX_URL_CHARACTERS}
          required
        />
        <ForWhom devices={devices} value={ids} onValue={setIds} />
      </Form>
    </Dialog>
  );
}
