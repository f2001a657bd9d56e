import type { DnsStatus } from "../../../dns/schema.ts";
import { countOf, numberOf } from "../../format.ts";

/** Which devices ask, the one that asks most first, and how much of that is blocked. */
export function Askers({ devices }: Pick<DnsStatus, "devices">) {
  return (
    <details class="figures">
      <summary>{countOf(devices.length, "device has asked", "devices have asked")}</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Device</th>
            <th scope="col">Queries</th>
            <th scope="col">Blocked</th>
          </tr>
        </thead>
        <tbody>
          {devices.map(({ id, name, asked, blocked }) => (
            <tr key={id}>
              <th scope="row">{name || id}</th>
              <td>{numberOf(asked)}</td>
              <td>{numberOf(blocked)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
