import { useRef } from "preact/hooks";
import { useEarlier } from "../../earlier.ts";
import { rateOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Graph } from "../../parts/graph.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { useTraffic } from "../../traffic.ts";

/** What all tunnels carry together, now and in the last ten minutes. */
export function TrafficNow() {
  const samples = useTraffic();
  // The oldest ones are dropped later.
  const opened = useRef<number | null>(null);
  opened.current ??= samples[0]?.at ?? null;
  const earlier = useEarlier(opened.current);
  const rate = samples.at(-1)?.rate ?? null;
  const received = rate === null ? "…" : rateOf(rate.rx);
  const sent = rate === null ? "…" : rateOf(rate.tx);
  return (
    <section class="card traffic">
      <h2>{say("Traffic of the last ten minutes")}</h2>
      <p class="rates">
        <span class="received">
          <Icon name="down" /> {received} <span class="quiet">{say("received")}</span>
        </span>
        <span class="sent">
          <Icon name="up" /> {sent} <span class="quiet">{say("sent")}</span>
        </span>
      </p>
      <Graph samples={[...earlier, ...samples]} label={say("Graph of the rates")} />
      <ViewLink to="history">{say("The last hour, day and two months")}</ViewLink>
    </section>
  );
}
