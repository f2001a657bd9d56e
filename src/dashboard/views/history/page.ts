import { useEffect, useState } from "preact/hooks";
import type { HistoryPage } from "../../../history/schema.ts";
import { read } from "../../api.ts";
import { isLost, type Loaded } from "../../store.ts";
import { useMinute } from "../../traffic.ts";
import { LENGTHS_SECONDS, LOOKS, type Span, type Subject } from "./span.ts";

/** What the gateway has of a time and of somebody; read again when the next minute or hour has begun. */
export function useHistoryPage(span: Span, whose: Subject): Loaded<HistoryPage> {
  const choice = `${span} ${whose}`;
  const [shown, setShown] = useState<{ choice: string; page: Loaded<HistoryPage> }>({
    choice,
    page: LOADING,
  });
  const path = pathOf(span, whose, useMinute());
  useEffect(() => {
    if (isLost.value) return;
    const ending = new AbortController();
    const show = (page: Loaded<HistoryPage>) => {
      if (!ending.signal.aborted) setShown({ choice, page });
    };
    read<HistoryPage>(path, ending.signal).then(
      (value) => show({ state: "ready", value }),
      (error: Error) => show({ state: "failed", error: error.message }),
    );
    return () => ending.abort();
  }, [path, isLost.value]);
  return shown.choice === choice ? shown.page : LOADING;
}

const LOADING = { state: "loading" } as const;

function pathOf(span: Span, whose: Subject, minute: number): string {
  const { seconds, resolution } = LOOKS[span];
  const length = LENGTHS_SECONDS[resolution];
  const to = Math.ceil(((minute + 1) * 60) / length) * length;
  const [kind, name = ""] = whose.split(" ", 2);
  const query = new URLSearchParams({
    from: new Date((to - seconds) * 1_000).toISOString(),
    to: new Date(to * 1_000).toISOString(),
    resolution,
    ...(kind === "uplink" ? { uplink: "true" } : {}),
    ...(kind === "tunnel" || kind === "device" ? { [kind]: name } : {}),
  });
  return `history?${query}`;
}
