import type { DeviceList } from "../../../devices/schema.ts";
import type { DnsLists } from "../../../dns/schema.ts";
import { change } from "../../api.ts";
import { agoOf, countOf, sentenceFrom } from "../../format.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useNow } from "../../traffic.ts";
import { bodyWith } from "./wanted.ts";
import { whomText } from "./whom.ts";

interface ListRowProps {
  list: DnsLists["lists"][number];
  all: DnsLists;
  devices: DeviceList["devices"];
}

/** Where it comes from, for whom it is, how large it is, and how fresh. */
export function ListRow({
  list: { url, devices: ids, on, names, fetched_at, error },
  all,
  devices,
}: ListRowProps) {
  const now = useNow();
  const short = url.replace(/^https:\/\//, "");
  const whom = whomText(ids, devices);
  const turned = all.lists.map((each) => (each.url === url ? { ...each, on: !on } : each));
  const rest = all.lists.filter((each) => each.url !== url);
  return (
    <li class="destination row">
      <Icon name="log" />
      <div class="destination-what">
        <p class="list-address">
          <strong>{short}</strong>
        </p>
        <p class="quiet small">
          For {whom}. {!on && "It is off, and blocks nothing. "}
          {fetched_at === null
            ? "It has not been fetched yet."
            : `${countOf(names, "name")}, confirmed ${agoOf(fetched_at, now)}.`}
        </p>
        {error !== null && (
          <p class="outcome failed">
            <Icon name="warning" /> <span>It could not be fetched. {sentenceFrom(error)}</span>
          </p>
        )}
      </div>
      <Button
        doing={on ? "Turning off…" : "Turning on…"}
        label={`Turn ${on ? "off" : "on"} the list ${short}`}
        work={async () => void (await change("PUT", "dns/lists", bodyWith(all, { lists: turned })))}
      >
        {on ? "Turn off" : "Turn on"}
      </Button>
      <Button
        kind="danger"
        doing="Removing…"
        label={`Remove the list ${short}`}
        work={async () => void (await change("PUT", "dns/lists", bodyWith(all, { lists: rest })))}
        ask={{
          title: "Remove this list?",
          text: `The names in ${short} are no longer blocked for ${whom}, unless another list has them.`,
          confirm: "Remove",
        }}
      >
        Remove
      </Button>
    </li>
  );
}
