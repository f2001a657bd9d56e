import { useEffect, useState } from "preact/hooks";
import type { DnsLists } from "../../../dns/schema.ts";
import { change } from "../../api.ts";
import { wordsIn } from "../../destination.ts";
import { say } from "../../language.ts";
import { Field, Form } from "../../parts/form.tsx";
import { bodyWith } from "./wanted.ts";

/** The names that stay open whatever a list says. */
export function Exceptions({ lists }: { lists: DnsLists }) {
  const saved = lists.exceptions.join(", ");
  const [text, setText] = useState(saved);
  useEffect(() => setText(saved), [saved]);
  const save = async () => {
    await change("PUT", "dns/lists", bodyWith(lists, { exceptions: wordsIn(text) }));
    return say("Saved.");
  };
  return (
    <div class="exceptions">
      <Form work={save} submit={say("Save the exceptions")} doing={say("Saving…")}>
        <Field
          label={say("Names that stay open")}
          hint={say("With all names below them, such as example.com; commas between them.")}
          value={text}
          onValue={setText}
        />
      </Form>
    </div>
  );
}
