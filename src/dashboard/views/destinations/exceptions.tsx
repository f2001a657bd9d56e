import { useEffect, useState } from "preact/hooks";
import type { DnsLists } from "../../../dns/schema.ts";
import { change } from "../../api.ts";
import { wordsIn } from "../../destination.ts";
import { say } from "../../language.ts";
import { Field, Form } from "../../parts/form.tsx";
import { bodyWith } from "./wanted.ts";

/** The names that stay open whatever a list says, and those that may have addresses of the home. */
export function Exceptions({ lists }: { lists: DnsLists }) {
  const [open, setOpen] = useNames(lists.exceptions);
  const [privateNames, setPrivateNames] = useNames(lists.private_names);
  const save = async () => {
    const names = { exceptions: wordsIn(open), privateNames: wordsIn(privateNames) };
    await change("PUT", "dns/lists", bodyWith(lists, names));
    return say("Saved.");
  };
  return (
    <div class="exceptions">
      <Form work={save} submit={say("Save the exceptions")} doing={say("Saving…")}>
        <Field
          label={say("Names that are never blocked")}
          hint={say("With all names below them, such as example.com; commas between them.")}
          value={open}
          onValue={setOpen}
        />
        <Field
          label={say("Names that may have addresses of the home")}
          hint={say(
            "Some programs, such as Plex (plex.direct), need that. Of all other names, addresses of your home are left out.",
          )}
          value={privateNames}
          onValue={setPrivateNames}
        />
      </Form>
    </div>
  );
}

/** What is typed, until other names are saved. */
function useNames(names: readonly string[]): [string, (text: string) => void] {
  const saved = names.join(", ");
  const [text, setText] = useState(saved);
  useEffect(() => setText(saved), [saved]);
  return [text, setText];
}
