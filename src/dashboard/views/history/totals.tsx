import type { HistoryPage } from "../../../history/schema.ts";
import { bytesOf } from "../../format.ts";

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
      <Total title="By device" rows={devices} empty="No device has received or sent anything." />
      <Total title="By tunnel" rows={page.tunnels} empty="No tunnel has carried anything." />
    </>
  );
}

function Total({ title, rows, empty }: { title: string; rows: readonly Row[]; empty: string }) {
  return (
    <section class="card figures total">
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">{title === "By device" ? "Device" : "Tunnel"}</th>
              <th scope="col">Received</th>
              <th scope="col">Sent</th>
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
