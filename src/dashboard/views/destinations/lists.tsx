import { useState } from "preact/hooks";
import type { DnsLists, DnsStatus } from "../../../dns/schema.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import { useAction } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { inItsWords } from "../../codes.ts";
import { useFresh } from "../../fresh.ts";
import { say } from "../../language.ts";
import { FormButton, Outcome } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { List, Ready } from "../../parts/list.tsx";
import { Told } from "../../parts/told.tsx";
import { AddList } from "./add-list.tsx";
import { Askers } from "./askers.tsx";
import { Doh } from "./doh.tsx";
import { Exceptions } from "./exceptions.tsx";
import { ListRow } from "./list-row.tsx";
import { Pause } from "./pause.tsx";

/** The lists of blocked names, and what the gateway's resolver does with them. */
export function Lists() {
  const lists = useAnswer("dns/lists");
  const dns = knownOf(useAnswer("dns"));
  const [isAdding, setAdding] = useState(false);
  const action = useAction();
  useFresh("dns", dns?.state === "on");
  return (
    <section class="card">
      <header class="view-head">
        <h2>{say("Blocked names")}</h2>
        {lists.state === "ready" && (
          <FormButton open={() => setAdding(true)}>
            <Icon name="add" /> {say("Add a list…")}
          </FormButton>
        )}
      </header>
      {!isAdding && <Outcome of={action} />}
      <Ready of={lists}>{(value) => <All lists={value} dns={dns} />}</Ready>
      {isAdding && lists.state === "ready" && (
        <AddList lists={lists.value} action={action} onClose={() => setAdding(false)} />
      )}
    </section>
  );
}

function All({ lists, dns }: { lists: DnsLists; dns: DnsStatus | null }) {
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  const fault = dns === null ? null : faultIn(dns);
  if (lists.lists.length === 0 && !lists.block_doh)
    return (
      <>
        <p class="quiet">
          {say(
            "There is no list. With one, such as a list of advertisers, the gateway answers the DNS queries of your devices itself, and says of each name in it that there is no such name.",
          )}
        </p>
        <Doh lists={lists} />
        {dns?.state === "on" && <Exceptions lists={lists} />}
      </>
    );
  return (
    <>
      {fault !== null && (
        <p class="outcome failed">
          <Icon name="warning" />{" "}
          <span>
            <Told text={fault} />
          </span>
        </p>
      )}
      {dns !== null && dns.state === "on" && <Figures dns={dns} />}
      {dns !== null && dns.state === "on" && dns.devices.length > 0 && <Askers devices={dns.devices} />}
      {dns !== null && <Pause until={dns.paused_until} />}
      <List of={lists.lists}>
        {(list) => <ListRow key={list.url} list={list} all={lists} devices={devices} />}
      </List>
      <Doh lists={lists} />
      <Exceptions lists={lists} />
    </>
  );
}

function Figures({ dns: { asked, cached, blocked, refused, blocked_names } }: { dns: DnsStatus }) {
  return (
    <p class="quiet">
      {say("{count, plural, one {# name} other {# names}} in all lists.", { count: blocked_names })}{" "}
      {say(
        "Since the gateway’s start, devices have asked {asked, plural, one {# time} other {# times}}: {blocked, number} blocked, {cached, number} answered at once, {refused, number} refused because their exit was down.",
        { asked, blocked, cached, refused },
      )}
    </p>
  );
}

function faultIn({ state, reason }: DnsStatus): string | null {
  if (state === "elsewhere")
    return say(
      "Another resolver on the gateway answers the DNS queries, so lists have no effect. Use that resolver’s own lists.",
    );
  if (state === "failed")
    return `${say("DNS queries are refused, because the gateway’s resolver could not start.")} ${inItsWords(sentenceFrom(reason ?? ""))}`;
  return null;
}
