import { useEffect, useState } from "preact/hooks";
import type { JournalEntry, JournalPage } from "../../../journal/schema.ts";
import { MAX_EVENTS } from "../../../shared/bounds.ts";
import { useAnswer } from "../../answers.ts";
import { read } from "../../api.ts";
import type { Loaded } from "../../store.ts";

/** One click on "Older" looks further back until it has found so many. */
const ENOUGH = 20;

export interface History {
  latest: Loaded<JournalPage>;
  /** All that has been read, oldest first. */
  events: readonly JournalEntry[];
  /** Whether there are older ones. */
  more: boolean;
  /** Reads older ones, until enough of them fit. */
  older: (fits: (entry: JournalEntry) => boolean) => Promise<void>;
}

/** The latest events, which stay up to date, and older ones on demand. */
export function useHistory(): History {
  const latest = useAnswer("events");
  const [known, setKnown] = useState<JournalPage>({ events: [], more: false });
  const page = latest.state === "ready" ? latest.value : null;
  useEffect(() => {
    if (page !== null) setKnown((before) => joined(before, page));
  }, [page]);
  const older = async (fits: (entry: JournalEntry) => boolean) => {
    let found = 0;
    let { more } = known;
    let first = known.events[0]?.id;
    while (more && found < ENOUGH && first !== undefined) {
      const next: JournalPage = await read(`events?before=${first}&limit=${MAX_EVENTS}`);
      found += next.events.filter(fits).length;
      // A page of entries that only another version of the gateway can read is empty.
      more = next.more && next.events.length > 0;
      first = next.events[0]?.id;
      const end = more;
      setKnown((before) => ({ events: [...next.events, ...before.events], more: end }));
    }
  };
  return { latest, ...known, older };
}

/** What was known, with the latest page; without it if there is a gap between them, which may hide events. */
function joined(known: JournalPage, page: JournalPage): JournalPage {
  const last = known.events.at(-1)?.id;
  const first = page.events[0]?.id;
  if (last === undefined || first === undefined || (page.more && first > last + 1)) return page;
  return { events: [...known.events.filter(({ id }) => id < first), ...page.events], more: known.more };
}
