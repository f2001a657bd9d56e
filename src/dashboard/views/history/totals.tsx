import type { HistoryPage } from "../../../history/schema.ts";
import { bytesOf } from "../../format.ts";
import { say } from "../../language.ts";

interface Row {
  name: string;
  rx_bytes: number;
  tx_bytes: number;
}

/** Who has carried how much in the whole time, the most first. */
export function Totals({ page, names }: { page: HistoryPage; names: ReadonlyMap<string, string> }) {
  const devices = page.devices.map(({ id, ...bytes }) => ({ name: names.get(id) ?? id, ...bytes }));
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
        rows={page.tunnels}
        empty={say("No tunnel has carried anything.")}
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
        <table>
          <thead>
            <tr>
              <th scope="col">{column}</th>
              <th scope="col">{say("Received")}</th>
              <th scope="col">{say("Sent")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, rx_bytes, tx_bytes }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{bytesOf(rx_bytes)}</td>
                <td>{bytesOf(tx_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
