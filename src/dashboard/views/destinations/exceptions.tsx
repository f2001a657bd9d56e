import type { DnsLists } from "../../../dns/schema.ts";
import { change } from "../../api.ts";
import { listOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Facts } from "../../parts/facts.tsx";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { bodyWith } from "../../wanted-lists.ts";

const OPEN = say("Names that are never blocked");
const OF_HOME = say("Names that may have addresses of the home");

/** The names that stay open whatever a list says, and those that may have addresses of the home. */
export function Exceptions({ lists }: { lists: DnsLists }) {
  return (
    <div class="exceptions">
      <Facts
        of={[[OPEN, lists.exceptions] as const, [OF_HOME, lists.private_names] as const].flatMap(
          ([term, names]) => (names.length === 0 ? [] : [[term, listOf(names)]]),
        )}
      />
      <OnDemand text={say("Change the exceptions…")}>
        <Form
          of="blockedNames"
          rows={{
            exceptions: {
              label: OPEN,
              hint: say("With all names below them, such as example.com; commas between them."),
              value: lists.exceptions,
            },
            private_names: {
              label: OF_HOME,
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
      </OnDemand>
    </div>
  );
}
