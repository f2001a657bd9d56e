import { useState } from "preact/hooks";
import type { DestinationList } from "../../destinations/schema.ts";
import { useAction } from "../action.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { say } from "../language.ts";
import { FormButton, Outcome } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { ListCard, Ready } from "../parts/list.tsx";
import { Add } from "./destinations/add.tsx";
import { Lists } from "./destinations/lists.tsx";
import { QueryLog } from "./destinations/query-log.tsx";
import { RuleRow } from "./destinations/row.tsx";
import { Why } from "./destinations/why.tsx";

/** Where the traffic to some destinations leaves, and which names are blocked. */
export function Destinations() {
  const rules = useAnswer("destinations");
  const dns = knownOf(useAnswer("dns"));
  const [isAdding, setAdding] = useState(false);
  // Its action outlives the dialog, so that an outcome is not lost with it.
  const action = useAction();
  return (
    <div class="destinations">
      <header class="view-head">
        <h1>{say("Destinations")}</h1>
        <FormButton open={() => setAdding(true)}>
          <Icon name="add" /> {say("Add a rule…")}
        </FormButton>
      </header>
      {!isAdding && <Outcome of={action} />}
      <Ready of={rules}>{(value) => <Rules list={value} />}</Ready>
      <Why />
      <Lists />
      {dns !== null && dns.state === "on" && <QueryLog until={dns.logged_until} />}
      {isAdding && <Add action={action} onClose={() => setAdding(false)} />}
    </div>
  );
}

function Rules({ list: { destinations } }: { list: DestinationList }) {
  const list = knownOf(useAnswer("devices"));
  return (
    <ListCard
      of={destinations}
      title={say("Rules")}
      about={say(
        "The first rule that fits holds: those for some devices come first, then the most specific destination.",
      )}
      empty={{
        title: say("No rule yet"),
        text: say(
          "All traffic of a device takes the exit of that device. With a rule, the traffic to some destinations takes another one: a streaming service goes through another country, or a network is blocked.",
        ),
      }}
    >
      {(rule) => <RuleRow key={rule.id} rule={rule} list={list} />}
    </ListCard>
  );
}
