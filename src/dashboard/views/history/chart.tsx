import { useMemo } from "preact/hooks";
import type { HistoryPage } from "../../../history/schema.ts";
import { bitRateOf, clockOf, dateOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Plot } from "../../parts/plot.tsx";
import { dataOf, secondsOf } from "../../rates.ts";
import { useMinute } from "../../traffic.ts";
import { LOOKS, type Span, type Subject } from "./span.ts";

/** The rates of a time, with outages as bands behind them. */
export function Chart({ page, span, whose }: { page: HistoryPage; span: Span; whose: Subject }) {
  const now = useMinute() * 60;
  const data = useMemo(() => dataOf(page, LOOKS[span].stepSeconds, now), [page]);
  const bands = bandsOf(page, whose);
  const [, received, sent] = data;
  const top = (rates: readonly (number | null)[]) =>
    bitRateOf(rates.reduce<number>((most, rate) => Math.max(most, rate ?? 0), 0));
  const rates = say("Graph of the rates: received {received} at most, sent {sent} at most.", {
    received: top(received),
    sent: top(sent),
  });
  const outages = say("The times without a connection are listed below.");
  return (
    <>
      <Plot
        data={data}
        label={bands.length === 0 ? rates : `${rates} ${outages}`}
        range={[secondsOf(page.from), secondsOf(page.to)]}
        timeText={span === "months" ? dateOf : clockOf}
        shaded={bands}
        isStepped
      />
      {bands.length > 0 && (
        <p class="quiet small">
          <span class="outage-sample" />{" "}
          {say(
            "Shaded: the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} was not connected.",
            { tunnel: tunnelIn(whose) },
          )}
        </p>
      )}
    </>
  );
}

interface Band {
  from: number;
  to: number;
}

/** Devices go through `main` unless somebody has said otherwise. */
function tunnelIn(whose: Subject): string {
  return whose.startsWith("tunnel ") ? whose.slice("tunnel ".length) : "main";
}

function bandsOf({ states, from, to }: HistoryPage, whose: Subject): Band[] {
  return states
    .filter(({ tunnel, state }) => tunnel === tunnelIn(whose) && state !== "connected")
    .map((each) => ({
      from: Math.max(secondsOf(each.from), secondsOf(from)),
      to: secondsOf(each.until ?? to),
    }));
}
