import type { DeviceList } from "../../../devices/schema.ts";
import type { DnsLists } from "../../../dns/schema.ts";
import { change } from "../../api.ts";
import { aboutOf } from "../../block-lists.ts";
import { agoOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Remove, Row } from "../../parts/row.tsx";
import { useNow } from "../../traffic.ts";
import { bodyWith } from "../../wanted-lists.ts";
import { whomOf } from "./whom.ts";

interface ListRowProps {
  list: DnsLists["lists"][number];
  all: DnsLists;
  devices: DeviceList["devices"];
}

/** Where it comes from, for whom it is, how large it is, and how fresh. */
export function ListRow({ list, all, devices }: ListRowProps) {
  const { url, devices: ids, on, names, skipped, fetched_at } = list;
  const now = useNow();
  const short = url.replace(/^https:\/\//, "");
  const whom = whomOf(ids, devices);
  const turned = all.lists.map((each) => (each.url === url ? { ...each, on: !on } : each));
  const rest = all.lists.filter((each) => each.url !== url);
  const set = async (lists: DnsLists["lists"]) => {
    await change("PUT", "dns/lists", bodyWith(all, { lists }));
  };
  const about = aboutOf(url);
  const facts = [
    about !== null && `${short} ·`,
    say("For {whose, select, all {all devices} other {{who}}}.", { ...whom }),
    !on && say("It is off, and blocks nothing."),
    fetched_at === null
      ? say("It has not been fetched yet.")
      : say("{count, plural, one {# name} other {# names}}, confirmed {ago}.", {
          count: names,
          ago: agoOf(fetched_at, now),
        }),
    skipped > 0 &&
      say(
        "{count, plural, one {# line was} other {# lines were}} not understood, and {count, plural, one {blocks} other {block}} nothing.",
        { count: skipped },
      ),
  ];
  return (
    <Row
      icon="log"
      name={about ?? short}
      facts={[facts.filter(Boolean).join(" ")]}
      fault={list}
      intro={say("It could not be fetched.")}
      actions={
        <>
          <Button
            doing={say(on ? "Turning off…" : "Turning on…")}
            label={say(on ? "Turn off the list {list}" : "Turn on the list {list}", { list: short })}
            work={() => set(turned)}
          >
            {say(on ? "Turn off" : "Turn on")}
          </Button>
          <Remove
            label={say("Remove the list {list}", { list: short })}
            work={() => set(rest)}
            title={say("Remove this list?")}
            text={say(
              "The names in {list} are no longer blocked for {whose, select, all {all devices} other {{who}}}, unless another list has them.",
              { ...whom, list: short },
            )}
          />
        </>
      }
    />
  );
}
