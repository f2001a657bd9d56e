import type { HistoryPage } from "../../../history/schema.ts";
import { bytesOf, clockOf, dateOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Table } from "../../parts/list.tsx";
import { LOOKS, type Span } from "./span.ts";

/** What the graph shows, as a table, the latest first. */
export function Figures(props: {
  page: HistoryPage;
  span: Span;
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}) {
  const { page, span, isOpen, onToggle } = props;
  const { rowSeconds } = LOOKS[span];
  const rows = Map.groupBy(page.points, ({ at }) => beginOf(at, rowSeconds));
  const timeText = span === "months" ? dateOf : clockOf;
  return (
    <details class="figures" open={isOpen} onToggle={({ currentTarget }) => onToggle(currentTarget.open)}>
      <summary>{say("The graph as a table")}</summary>
      {rows.size === 0 && <p class="quiet">{say("No data was carried.")}</p>}
      {rows.size > 0 && (
        <Table
          heads={[say(span === "months" ? "Day" : "From"), say("Received"), say("Sent")]}
          rows={[...rows]
            .toReversed()
            .map(([begin, points]) => [
              timeText(begin),
              bytesOf(points.reduce((sum, { rx_bytes }) => sum + rx_bytes, 0)),
              bytesOf(points.reduce((sum, { tx_bytes }) => sum + tx_bytes, 0)),
            ])}
        />
      )}
    </details>
  );
}

/** When the row begins that a point belongs to, in seconds since 1970; days are the reader's. */
export function beginOf(at: string, rowSeconds: number): number {
  const date = new Date(at);
  if (rowSeconds >= 86_400) return date.setHours(0, 0, 0, 0) / 1_000;
  return Math.floor(date.getTime() / 1_000 / rowSeconds) * rowSeconds;
}
