import type { HistoryPage } from "../../history/schema.ts";
import { knownOf, useAnswer } from "../answers.ts";
import { titleOf } from "../exit.ts";
import { bytesOf } from "../format.ts";
import { useKept } from "../kept.ts";
import { say } from "../language.ts";
import { Icon } from "../parts/icon.tsx";
import { Pending } from "../parts/pending.tsx";
import { Chart } from "./history/chart.tsx";
import { Choices } from "./history/choices.tsx";
import { Figures } from "./history/figures.tsx";
import { useHistoryPage } from "./history/page.ts";
import { Quality } from "./history/quality.tsx";
import { LOOKS, type Span, type Subject } from "./history/span.ts";
import { States } from "./history/states.tsx";
import { Totals } from "./history/totals.tsx";

/** What was carried in the last hour, day or two months, by whom, and what happened then. */
export function History() {
  const [span, setSpan] = useKept<Span>("span", "hour", (span) => span in LOOKS);
  const [whose, setWhose] = useKept<Subject>("whose", "all");
  const [isOpen, setIsOpen] = useKept<boolean>("figures", false);
  const page = useHistoryPage(span, whose);
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  const names = new Map(devices.map((device) => [device.id, titleOf(device)]));
  return (
    <div class="history">
      <h1>{say("History")}</h1>
      <Choices
        span={span}
        onSpan={setSpan}
        whose={whose}
        onWhose={setWhose}
        page={knownOf(page)}
        names={names}
      />
      {page.state === "ready" ? (
        <Shown page={page.value} {...{ span, whose, names, isOpen, onToggle: setIsOpen }} />
      ) : (
        <Pending of={page} />
      )}
    </div>
  );
}

interface ShownProps {
  page: HistoryPage;
  span: Span;
  whose: Subject;
  names: ReadonlyMap<string, string>;
  /** Whether the graph is shown as a table too. */
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}

function Shown({ page, span, whose, names, isOpen, onToggle }: ShownProps) {
  const sum = page.points.reduce(
    (before, { rx_bytes, tx_bytes }) => ({ rx: before.rx + rx_bytes, tx: before.tx + tx_bytes }),
    { rx: 0, tx: 0 },
  );
  return (
    <>
      <section class="card">
        <h2>{say("Traffic")}</h2>
        {page.kept ? (
          <>
            <p class="rates">
              <span class="received">
                <Icon name="down" /> {bytesOf(sum.rx)} <span class="quiet">{say("received")}</span>
              </span>
              <span class="sent">
                <Icon name="up" /> {bytesOf(sum.tx)} <span class="quiet">{say("sent")}</span>
              </span>
            </p>
            <Chart key={`${span} ${whose}`} page={page} span={span} whose={whose} />
            <Figures {...{ page, span, isOpen, onToggle }} />
          </>
        ) : (
          <p class="quiet">{say("The gateway keeps no history of the traffic (--history off).")}</p>
        )}
      </section>
      <Quality {...{ page, span, whose }} />
      {page.kept && <Totals page={page} names={names} />}
      <States page={page} />
    </>
  );
}
