import { useEffect, useState } from "preact/hooks";
import type { HistoryPage } from "../history/schema.ts";
import { read } from "./api.ts";
import { secondsOf } from "./rates.ts";
import { connection } from "./store.ts";
import { HISTORY_SECONDS, MINUTE_MS, type Sample } from "./traffic.ts";

const MINUTE = MINUTE_MS / 1_000;

/** What the gateway has of the minutes before `until`, in seconds since 1970: before this page was opened. */
export function useEarlier(until: number | null): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[] | null>(null);
  // Once it is known, what was before does not change.
  const isWanted = connection.value.name === "live" && samples === null;
  useEffect(() => {
    if (!isWanted || until === null) return;
    const [from, to] = [until - HISTORY_SECONDS - MINUTE, until].map((at) =>
      new Date(at * 1_000).toISOString(),
    );
    const ending = new AbortController();
    read<HistoryPage>(`history?from=${from}&to=${to}&resolution=minute`, ending.signal).then(
      (page) => setSamples(samplesIn(page, until)),
      // The graph then begins with the page.
      () => {},
    );
    return () => ending.abort();
  }, [isWanted, until]);
  return samples ?? [];
}

/** The mean rate of each whole minute before `until`, at its begin and its end; none while the gateway did not run. */
export function samplesIn({ kept, points, off, from }: HistoryPage, until: number): Sample[] {
  if (!kept) return [];
  const carried = new Map(points.map((each) => [secondsOf(each.at), each]));
  const samples: Sample[] = [];
  for (let at = secondsOf(from); at + MINUTE <= until; at += MINUTE) {
    const point = carried.get(at);
    const end = at + MINUTE;
    const isOff = off.some((each) => secondsOf(each.from) < end && secondsOf(each.until) > at);
    const rate =
      point === undefined && isOff
        ? null
        : { rx: (point?.rx_bytes ?? 0) / MINUTE, tx: (point?.tx_bytes ?? 0) / MINUTE };
    // A graph needs different times.
    samples.push({ at, rate }, { at: end - 0.001, rate });
  }
  return samples;
}
