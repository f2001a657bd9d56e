import type { HistoryPage } from "../../../history/schema.ts";
import { bytesOf } from "../../format.ts";
import { pathTo } from "../../hash.ts";
import { say } from "../../language.ts";
import { ViewLink } from "../../parts/link.tsx";
import { Table } from "../../parts/list.tsx";

interface Row {
  name: string;
  /** A link to it. */
  to: string;
  rx_bytes: number;
  tx_bytes: number;
}

/** Who has carried how much in the whole time, the most first. */
export function Totals({ page, names }: { page: HistoryPage; names: ReadonlyMap<string, string> }) {
  const devices = page.devices.map(({ id, ...bytes }) => ({
    ...{ name: names.get(id) ?? id, to: pathTo("devices", id) },
    ...bytes,
  }));
  const tunnels = page.tunnels.map((tunnel) => ({ to: "tunnels", ...tunnel }));
  return (
    <>
      <Total
        title={say("By device")}
        column={say("Device")}
        rows={devices}
        empty={say("No device has received or sent anything.")}
      />
      <Total
        title={say("By tunnel")}
        column={say("Tunnel")}
        rows={tunnels}
        empty={say("No tunnel has carried any data.")}
      />
    </>
  );
}

interface TotalProps {
  title: string;
  /** The head of the column of names. */
  column: string;
  rows: readonly Row[];
  empty: string;
}

function Total({ title, column, rows, empty }: TotalProps) {
  return (
    <section class="card figures total">
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <Table
          heads={[column, say("Received"), say("Sent")]}
          rows={rows.map(({ name, to, rx_bytes, tx_bytes }) => [
            <ViewLink to={to}>{name}</ViewLink>,
            bytesOf(rx_bytes),
            bytesOf(tx_bytes),
          ])}
        />
      )}
    </section>
  );
}
