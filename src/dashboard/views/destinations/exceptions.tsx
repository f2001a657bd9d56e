import type { DnsLists } from "../../../dns/schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Form } from "../../parts/form.tsx";
import { bodyWith } from "../../wanted-lists.ts";

/** The names that stay open whatever a list says, and those that may have addresses of the home. */
export function Exceptions({ lists }: { lists: DnsLists }) {
  return (
    <div class="exceptions">
      <Form
        of="blockedNames"
        rows={{
          exceptions: {
            label: say("Names that are never blocked"),
            hint: say("With all names below them, such as example.com; commas between them."),
            value: lists.exceptions,
          },
          private_names: {
            label: say("Names that may have addresses of the home"),
            hint: say(
              "Some programs, such as Plex (plex.direct), need that. Of all other names, addresses of your home are left out.",
            ),
            value: lists.private_names,
          },
        }}
        work={async (given) => {
          await change("PUT", "dns/lists", bodyWith(lists, given));
          return say("Saved.");
        }}
        submit={say("Save the exceptions")}
        doing={say("Saving…")}
      />
    </div>
  );
}
